package dedup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// swapScript is the one script of the store: all keys hold what is expected, or nothing is written.
//
//	KEYS     keys of one hash tag; the first is written
//	ARGV     what each key is expected to hold, "" for no key; an expectation that ends in a blank leaves open what
//	         follows it (the time of a claim, which every renewal changes)
//	         then the new value ("" deletes) and its life in milliseconds (0: for ever)
//
// It answers 1, or what the keys hold.
var swapScript = redis.NewScript(`
for i, key in ipairs(KEYS) do
  local holds, want = redis.call('GET', key) or '', ARGV[i]
  local same = holds == want
  if not same and string.sub(want, -1) == ' ' then
    same = string.sub(holds, 1, #want) == want
  end
  if not same then
    return redis.call('MGET', unpack(KEYS))
  end
end
local value, life = ARGV[#KEYS + 1], ARGV[#KEYS + 2]
if value == '' then
  redis.call('DEL', KEYS[1])
elseif life == '0' then
  redis.call('SET', KEYS[1], value)
else
  redis.call('SET', KEYS[1], value, 'PX', life)
end
return 1
`)

// swap is one call of the script.
type swap struct {
	keys  []string
	want  []string
	value string
	life  time.Duration // 0: for ever
}

func (w swap) queue(ctx context.Context, p redis.Pipeliner) *redis.Cmd {
	args := make([]any, 0, len(w.want)+2)
	for _, want := range w.want {
		args = append(args, want)
	}
	args = append(args, w.value, milliseconds(w.life))
	return p.EvalSha(ctx, swapScript.Hash(), w.keys, args...)
}

// swapped reads the answer: done, or what the keys hold instead; unknown where the server has no such script yet.
func swapped(cmd *redis.Cmd) (done, unknown bool, holds []string, err error) {
	answer, err := cmd.Result()
	switch {
	case noScript(err):
		return false, true, nil, nil
	case err != nil:
		return false, false, nil, err
	}
	if n, ok := answer.(int64); ok && n == 1 {
		return true, false, nil, nil
	}
	list, ok := answer.([]any)
	if !ok {
		return false, false, nil, fmt.Errorf("compare-and-swap answered %v", answer)
	}
	return false, false, texts(list), nil
}

// texts reads the answer of MGET: "" where there is no key.
func texts(list []any) []string {
	out := make([]string, len(list))
	for i := range list {
		if text, ok := list[i].(string); ok {
			out[i] = present(text)
		}
	}
	return out
}

// present is the text of a key that is there: an empty one reads as a blank, which is no value, so that it is not
// taken for no key.
func present(text string) string {
	if text == "" {
		return " "
	}
	return text
}

func noScript(err error) bool {
	return errors.Is(err, redis.ErrNoScript) || redis.HasErrorPrefix(err, "NOSCRIPT")
}

// milliseconds is a life as Redis takes it, never shortened to nothing.
func milliseconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return max(d.Milliseconds(), 1)
}

// loadScript puts the script on every master.
func (s *Redis) loadScript(ctx context.Context) error {
	if err := swapScript.Load(ctx, s.client).Err(); err != nil {
		return explain(ctx, "load the compare-and-swap script", s.where, err)
	}
	return nil
}

// exchange sends what fill queues, and the look at the generation after it, in one round trip. Afterwards every
// queued command has its answer; its own error can only be redis.Nil or that the script is not loaded.
func (s *Redis) exchange(ctx context.Context, what string, fill func(p redis.Pipeliner)) error {
	opened := s.opened.Load()
	if opened == nil {
		return fmt.Errorf("%s in %s: %w", what, s.where, ErrNotOpen)
	}
	p := s.client.Pipeline()
	fill(p)
	gen := p.Get(ctx, s.generationKey())
	cmds, _ := p.Exec(ctx) // every command brings its own error
	if err := gen.Err(); err == nil || errors.Is(err, redis.Nil) {
		if found := gen.Val(); !sameID(found, *opened) {
			return fmt.Errorf("%s in %s: %w", what, s.where, lost(*opened, found))
		}
	}
	for _, cmd := range cmds {
		err := cmd.Err()
		if err == nil || errors.Is(err, redis.Nil) || noScript(err) {
			continue
		}
		if redis.HasErrorPrefix(err, "WRONGTYPE") {
			err = fmt.Errorf("key %v holds no text: %w", keyOf(cmd), err)
		}
		return explain(ctx, what, s.where, err)
	}
	return nil
}

// keyOf names the first key of a command that this store sends.
func keyOf(cmd redis.Cmder) any {
	at := 1
	if cmd.Name() == "evalsha" {
		at = 3 // evalsha sha numkeys key
	}
	if args := cmd.Args(); at < len(args) {
		return args[at]
	}
	return "?"
}

// attempts bounds how often one change is tried anew because others changed its key in between: each failure means
// that another one got through, so the bound is met only by a key that the whole fleet fights for.
const attempts = 100

func (s *Redis) contended(what string) error {
	return fmt.Errorf("%s in %s: %w: its value changed under every one of %d attempts", what, s.where, ErrUnavailable, attempts)
}

// change reads keys (of one tag; the first is written) and writes what decide makes of them, unless they changed in
// between: then it decides anew on what they hold now. decide answers false to write nothing.
func (s *Redis) change(ctx context.Context, what string, keys []string, decide func(holds []string) (swap, bool, error)) error {
	holds, err := s.read(ctx, what, keys...)
	if err != nil {
		return err
	}
	for range attempts {
		w, write, err := decide(holds)
		if err != nil || !write {
			return err
		}
		w.keys, w.want = keys, holds
		var cmd *redis.Cmd
		if err := s.exchange(ctx, what, func(p redis.Pipeliner) { cmd = w.queue(ctx, p) }); err != nil {
			return err
		}
		done, unknown, now, err := swapped(cmd)
		switch {
		case done:
			return nil
		case err != nil:
			return explain(ctx, what, s.where, err)
		case unknown:
			if err := s.loadScript(ctx); err != nil {
				return err
			}
		default:
			holds = now
		}
	}
	return s.contended(what)
}

// read answers what keys of one tag hold at one moment: "" where there is no key.
func (s *Redis) read(ctx context.Context, what string, keys ...string) ([]string, error) {
	var cmd *redis.SliceCmd
	err := s.exchange(ctx, what, func(p redis.Pipeliner) { cmd = queueRead(ctx, p, keys) })
	if err != nil {
		return nil, err
	}
	return texts(cmd.Val()), nil
}

// queueRead reads keys of one tag at one moment. MGET shows a key of another kind as nothing; STRLEN refuses it.
func queueRead(ctx context.Context, p redis.Pipeliner, keys []string) *redis.SliceCmd {
	for _, key := range keys {
		p.StrLen(ctx, key)
	}
	return p.MGet(ctx, keys...)
}
