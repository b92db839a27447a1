package statement

import (
	"encoding/xml"
	"strings"
)

// The parts of camt.053 and camt.054 that are read. Tags have no namespace, so that every version fits.

type xmlAmount struct {
	Currency string `xml:"Ccy,attr"`
	Text     string `xml:",chardata"`
}

type xmlDate struct {
	Date string `xml:"Dt"`
	Time string `xml:"DtTm"`
}

// day is the date as the bank wrote it, without a time.
func (d xmlDate) day() string {
	if s := strings.TrimSpace(d.Date); s != "" {
		return day(s)
	}
	return day(strings.TrimSpace(d.Time))
}

type xmlAccount struct {
	IBAN     string `xml:"Id>IBAN"`
	Other    string `xml:"Id>Othr>Id"`
	Currency string `xml:"Ccy"`
}

type xmlBalance struct {
	Kind   string    `xml:"Tp>CdOrPrtry>Cd"`
	Amount xmlAmount `xml:"Amt"`
	Sign   string    `xml:"CdtDbtInd"`
	Date   xmlDate   `xml:"Dt"`
}

type xmlSummary struct {
	All    xmlCount `xml:"TtlNtries"`
	Credit xmlCount `xml:"TtlCdtNtries"`
	Debit  xmlCount `xml:"TtlDbtNtries"`
}

type xmlCount struct {
	Number string `xml:"NbOfNtries"`
	Sum    string `xml:"Sum"`
}

type xmlEntry struct {
	Amount   xmlAmount `xml:"Amt"`
	Sign     string    `xml:"CdtDbtInd"`
	Reversal string    `xml:"RvslInd"`
	Status   struct {
		Text string `xml:",chardata"` // up to version 7
		Code string `xml:"Cd"`
	} `xml:"Sts"`
	Booking   xmlDate     `xml:"BookgDt"`
	Value     xmlDate     `xml:"ValDt"`
	Reference string      `xml:"AcctSvcrRef"`
	Details   []xmlDetail `xml:"NtryDtls>TxDtls"`
	Info      string      `xml:"AddtlNtryInf"`
}

type xmlDetail struct {
	Reference string    `xml:"Refs>AcctSvcrRef"`
	EndToEnd  string    `xml:"Refs>EndToEndId"`
	Tx        string    `xml:"Refs>TxId"`
	Amount    xmlAmount `xml:"Amt"`
	TxAmount  xmlAmount `xml:"AmtDtls>TxAmt>Amt"`
	Sign      string    `xml:"CdtDbtInd"`
	Remitted  []string  `xml:"RmtInf>Ustrd"`
	Creditor  []string  `xml:"RmtInf>Strd>CdtrRefInf>Ref"`
	Info      string    `xml:"AddtlTxInf"`
}

// booked is false for everything that may still change or vanish: PDNG, INFO, FUTR, and no status at all.
func (x *xmlEntry) booked() bool {
	return strings.TrimSpace(x.Status.Text) == "BOOK" || strings.TrimSpace(x.Status.Code) == "BOOK"
}

// signed folds an indicator into a figure. CdtDbtInd is the direction in which the money went, also in a reversal.
func signed(a amount, indicator string) (amount, bool) {
	switch strings.TrimSpace(indicator) {
	case "CRDT":
		return a, true
	case "DBIT":
		return a.debit(), true
	}
	return a, false
}

// child reads one element of a statement.
func (s *camtStatement) child(dec *xml.Decoder, start xml.StartElement) error {
	switch start.Name.Local {
	case "Id":
		return dec.DecodeElement(&s.id, &start)
	case "CreDtTm":
		return dec.DecodeElement(&s.created, &start)
	case "StmtPgntn", "NtfctnPgntn":
		var p struct {
			Number string `xml:"PgNb"`
		}
		err := dec.DecodeElement(&p, &start)
		s.page += "/" + strings.TrimSpace(p.Number)
		return err
	case "Acct":
		return dec.DecodeElement(&s.account, &start)
	case "Bal":
		var b xmlBalance
		err := dec.DecodeElement(&b, &start)
		s.balances = append(s.balances, b)
		return err
	case "TxsSummry":
		return dec.DecodeElement(&s.summary, &start)
	case "Ntry":
		s.entries = append(s.entries, camtEntry{})
		return dec.DecodeElement(&s.entries[len(s.entries)-1].xmlEntry, &start)
	}
	return dec.Skip()
}
