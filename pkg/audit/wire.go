package audit

import (
	"errors"
	"fmt"
	"time"

	"recon/pkg/envelope"
)

// wireEvent is the JSON of an Event, members as Event.append writes them.
type wireEvent struct {
	EventID       string `json:"event_id"`
	Type          string `json:"type"`
	At            string `json:"at"`
	Root          string `json:"root"`
	Generation    int    `json:"generation"`
	Attempt       int    `json:"attempt"`
	MessageID     string `json:"message_id"`
	TraceID       string `json:"trace_id"`
	SourceHash    string `json:"source_hash"`
	MatchDecision string `json:"match_decision"`
	Entity        string `json:"entity"`
	Currency      string `json:"currency"`
	Amount        string `json:"amount"`
	Code          string `json:"code"`
	Failure       string `json:"failure"`
	Stage         string `json:"stage"`
	Due           string `json:"due"`
	Actor         string `json:"actor"`
	RunID         string `json:"run_id"`
	Detail        string `json:"detail"`
}

func (w *wireEvent) event() (Event, error) {
	e := Event{
		EventID: w.EventID, Type: w.Type, Generation: w.Generation, Attempt: w.Attempt, MessageID: w.MessageID,
		TraceID: w.TraceID, SourceHash: w.SourceHash, MatchDecision: w.MatchDecision, Entity: w.Entity,
		Currency: w.Currency, Amount: w.Amount, Code: w.Code, Failure: w.Failure, Stage: w.Stage,
		Actor: w.Actor, RunID: w.RunID, Detail: w.Detail,
	}
	if w.Type == "" || w.Generation < 0 || w.Attempt < 0 {
		return e, errors.New("want a type, and neither generation nor attempt below 0")
	}
	var err error
	if e.At, err = moment("at", w.At); err != nil {
		return e, err
	}
	if w.Due != "" {
		if e.Due, err = moment("due", w.Due); err != nil {
			return e, err
		}
	}
	if w.Root != "" {
		if e.Root, err = envelope.ParseCoordinates(w.Root); err != nil {
			return e, err
		}
	}
	return e, nil
}

func moment(name, s string) (time.Time, error) {
	t, ok := envelope.ParseTime(s)
	if !ok {
		return t, fmt.Errorf("%s %q: want RFC 3339 in UTC with milliseconds", name, s)
	}
	return t, nil
}
