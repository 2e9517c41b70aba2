package fetch

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// The actions that ask the oracle.
const (
	actTool = "oracleTool"
	actAsk  = "oracleAsk"
	actLook = "oracleLook"
	actSend = "oracleSms"
)

// Arguments of the actions, and the variables they set.
const (
	argTool     = "tool"
	argQuestion = "question"
	varReply    = "reply"
	varAsk      = "askId"
)

// MaxReply limits the characters of an answer: three pages of a handset.
const MaxReply = 400

// PerHour is how many questions a number may ask in an hour by default.
const PerHour = 20

// Oracle answers questions from menus. Its methods end with the context; work that
// has begun continues.
type Oracle interface {
	// Send begins to answer a question. The same key again begins nothing more. It
	// returns the names under which Await finds the answer.
	Send(ctx context.Context, q Question) (user, run string, err error)
	// Await returns the answer, or the error of ctx when it is not there yet.
	Await(ctx context.Context, user, run string) (Reply, error)
	// Public calls a tool for an unknown caller. A fault of kind Forbidden means that the
	// tool is not public. A call that still runs when ctx ends continues, for a minute at
	// most, and passes its answer to after.
	Public(ctx context.Context, tool string, args []byte, after func(context.Context, Reply, error)) (Reply, error)
}

// Question is a question of a caller who is logged in: to the oracle itself, or to
// one tool.
type Question struct {
	Key     string // of this question
	Account string
	DID     string // of the customer, whose rights are the only ones there are
	Lang    string
	Text    string // "" where there is a tool
	Tool    string
	Args    []byte // a JSON object of texts
}

// Reply is the oracle's answer.
type Reply struct {
	Text    string // of a tool: its output, mostly JSON
	Refused bool
}

var toolForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Variables describes the variables that the actions set.
func Variables() []machine.Param {
	return []machine.Param{
		{Name: varReply, About: fmt.Sprintf("what the oracle said, at most %d characters on one line", MaxReply)},
		{Name: varAsk, About: "the question that is being answered, for `oracleLook` and `oracleSms`; not for screens"},
		{Name: varQuestion, About: "a question of a survey, with the text before it, over several lines"},
		{Name: varChoices, About: "what can be chosen, one line each, for `choices` of an input"},
		{Name: varProblem, About: "why an answer was not accepted, in the language of the session"},
		{Name: varPlace, About: "the question on the screen, for `surveyAnswer` and `surveyBack`; not for screens"},
		{Name: varCode, About: "short name of a response that was sent"},
	}
}

func (f *fetcher) oracleActions() map[string]machine.Action {
	sets := []string{varReply, varAsk}
	return map[string]machine.Action{
		actTool: {
			About: "calls a tool of the oracle with the rights of the customer who is logged in. All other constants are filled in as its arguments; empty ones are left out. `answer` reads values from its JSON; `reply` has all of it, as words. " +
				"`missing`: nobody is logged in, and the tool is not marked public. `refused`: the tool refused, or needs a grant that the customer has not given; a menu that leaves this out goes where `failed` goes. `later`, `limit`: as for `oracleAsk`",
			Takes: []machine.Param{{Name: argTool, About: "name of the tool, without variables"}}, Any: true, Answers: true, Valid: validTool,
			Effect: true, Outside: f.callTool, Results: []string{resOK, menu.Empty, menu.Refused, menu.Later, resNobody, menu.Limit, menu.Failed}, Sets: sets,
		},
		actAsk: {
			About: "asks the oracle for the customer who is logged in, and waits for 2 seconds at most. `later`: the answer is not there yet; `oracleLook` looks again, `oracleSms` has it sent. `missing`: nobody is logged in. " +
				"`limit`: the number has asked too often in the last hour (`USSD_ASKS_PER_HOUR`); left out, it goes where `failed` goes",
			Takes: []machine.Param{{Name: argQuestion, About: "the question"}}, Effect: true, Outside: f.ask,
			Results: []string{resOK, menu.Later, resNobody, menu.Limit, menu.Failed}, Sets: sets,
		},
		actLook: {
			About:   "checks, for 2 seconds at most, whether an answer that was not ready has arrived. `answer` reads values from the result of a tool",
			Answers: true, Effect: true, Outside: f.look, Results: []string{resOK, menu.Empty, menu.Refused, menu.Later, menu.Failed}, Sets: sets,
		},
		actSend: {
			About:   "sends a late answer by SMS when it is ready: of a tool's result, the values that `answer` reads, each with its name, or without `answer` all of it. `off`: no SMS can be sent, or 10 were sent today",
			Answers: true, Effect: true, Run: f.promise, Results: []string{resQueued, resOff}, Sets: []string{varAsk},
		},
	}
}

// validTool looks at the constants of a node.
func validTool(with map[string]string) error {
	switch name := with[argTool]; {
	case name == "":
		return errors.New("tool is missing: the name of the tool to call")
	case strings.ContainsAny(name, "{}"):
		return errors.New("tool shows no variables: what was typed must not choose what is done")
	case !toolForm.MatchString(name):
		return fmt.Errorf("tool %q is no name of a tool: 1 to 64 letters, digits, _ and -", name)
	}
	return nil
}

// callTool calls a tool: for a caller who is logged in, or a public one.
func (f *fetcher) callTool(ctx context.Context, c machine.ActionCall) (machine.Result, error) {
	args := map[string]string{}
	for name, value := range c.With {
		if name != argTool && value != "" {
			args[name] = value
		}
	}
	raw, err := json.Marshal(args, json.Deterministic(true))
	if err != nil {
		return machine.Result{Name: menu.Failed}, nil // the text is not UTF-8
	}
	q := Question{Key: c.Key, Lang: c.Lang, Tool: c.With[argTool], Args: raw}
	if c.Account != "" {
		return f.question(ctx, c, q)
	}
	return f.busy(ctx, func() machine.Result {
		if res := f.admit(ctx, c, ""); res != "" {
			return machine.Result{Name: res}
		}
		r, err := f.Oracle.Public(ctx, q.Tool, q.Args, func(ctx context.Context, r Reply, err error) {
			if err := f.asks.answered(ctx, c.Key, r, err); err != nil {
				f.Log.WarnContext(ctx, "the answer of a tool was not kept", "err", err.Error())
			}
		})
		if fault.KindOf(err) == fault.Forbidden {
			return machine.Result{Name: resNobody}
		}
		return later(f.told(ctx, c, r, err), c)
	})
}

// later has a question that is not answered yet looked at by its key.
func later(res machine.Result, c machine.ActionCall) machine.Result {
	if res.Name == menu.Later {
		res.Set[varAsk] = c.Key
	}
	return res
}

// ask asks the oracle.
func (f *fetcher) ask(ctx context.Context, c machine.ActionCall) (machine.Result, error) {
	text := strings.TrimSpace(c.Arg(argQuestion))
	if text == "" {
		return machine.Result{Name: menu.Failed}, nil
	}
	return f.question(ctx, c, Question{Key: c.Key, Lang: c.Lang, Text: text})
}

// question gets an answer for a caller who is logged in.
func (f *fetcher) question(ctx context.Context, c machine.ActionCall, q Question) (machine.Result, error) {
	return f.busy(ctx, func() machine.Result {
		if c.Account == "" || f.Customer == nil {
			return machine.Result{Name: resNobody}
		}
		did, err := f.Customer(ctx, c.Account)
		q.Account, q.DID = c.Account, did
		switch {
		case err != nil:
			return f.told(ctx, c, Reply{}, err)
		case q.DID == "":
			return machine.Result{Name: resNobody}
		}
		if res := f.admit(ctx, c, q.DID); res != "" {
			return machine.Result{Name: res}
		}
		user, run, err := f.Oracle.Send(ctx, q)
		if err == nil {
			err = f.asks.found(ctx, c.Key, user, run)
		}
		if fault.KindOf(err) == fault.TooMany {
			return machine.Result{Name: menu.Limit}
		}
		if fault.CodeOf(err) == "ANSWER_REFUSED" { // before the tool was asked: it has said nothing
			return machine.Result{Name: menu.Failed}
		}
		if err != nil {
			return f.told(ctx, c, Reply{Refused: fault.KindOf(err) == fault.Forbidden}, err)
		}
		r, err := f.Oracle.Await(ctx, user, run)
		return later(f.told(ctx, c, r, err), c)
	})
}

// look looks for an answer again.
func (f *fetcher) look(ctx context.Context, c machine.ActionCall) (machine.Result, error) {
	return f.busy(ctx, func() machine.Result {
		a, err := f.asks.find(ctx, c)
		if err != nil || a == nil {
			return f.told(ctx, c, Reply{Refused: err == nil}, err)
		}
		r, err := f.asks.await(ctx, a, c.Now)
		res := f.told(ctx, c, r, err)
		if res.Name == menu.Later {
			delete(res.Set, varAsk) // it stays
		}
		return res
	})
}

// busy asks the oracle unless too many callers wait for it.
func (f *fetcher) busy(ctx context.Context, work func() machine.Result) (machine.Result, error) {
	failed := machine.Result{Name: menu.Failed}
	if f.Oracle == nil || f.asks == nil || ctx.Err() != nil {
		return failed, nil
	}
	select {
	case f.asking <- struct{}{}:
		defer func() { <-f.asking }()
		return work(), nil
	default:
		f.Log.WarnContext(ctx, "too many callers wait for the oracle")
		return failed, nil
	}
}

// admit counts a question. It gives the result for one too many, "" for all others.
func (f *fetcher) admit(ctx context.Context, c machine.ActionCall, did string) string {
	ok, err := f.asks.admit(ctx, c, did)
	switch {
	case err != nil:
		f.Log.WarnContext(ctx, "a question of a menu could not be counted", "err", err.Error())
		return menu.Failed
	case !ok:
		return menu.Limit
	}
	return ""
}

// told turns the outcome of a question into a result. Every failure is a result
// too, because the caller needs a screen.
func (f *fetcher) told(ctx context.Context, c machine.ActionCall, r Reply, err error) machine.Result {
	set := map[string]string{varAsk: "", varReply: ""}
	switch {
	case r.Refused && (err == nil || fault.KindOf(err) == fault.Forbidden):
		return machine.Result{Name: refusedOr(c), Set: set}
	case err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)):
		return machine.Result{Name: menu.Later, Set: set}
	case err != nil:
		f.Log.WarnContext(ctx, "the oracle did not answer a menu", "kind", c.Action, "err", err.Error())
		return machine.Result{Name: menu.Failed, Set: set}
	}
	name := resOK
	if len(c.Answer) > 0 {
		picked, err := values([]byte(r.Text), c.Answer)
		if err != nil {
			return machine.Result{Name: menu.Failed, Set: set}
		}
		name = outcome(picked, c.Answer)
		for v, text := range picked {
			set[v] = text
		}
	}
	set[varReply] = line(r.Text, MaxReply)
	return machine.Result{Name: name, Set: set}
}

// refusedOr is the result for a no, of actions that have one.
func refusedOr(c machine.ActionCall) string {
	if c.Action == actAsk {
		return menu.Failed
	}
	return menu.Refused
}

// line puts an answer on one line, without the markup that models write for pages. A
// tool's JSON is put into words.
func line(s string, n int) string {
	if v := jsontext.Value(s); len(v) > 0 && strings.ContainsRune(`"{[`, rune(v.Kind())) && v.IsValid() {
		s = words(v)
	}
	s = strings.NewReplacer("**", "", "__", "", "`", "", "’", "'", "‘", "'", "“", `"`, "”", `"`, "–", "-", "—", "-", "…", "...", "\u00a0", " ").Replace(s)
	s = strings.Join(strings.Fields(strings.Map(printable, s)), " ")
	if short := cut(s, n-3); len(short) < len(s) && cut(s, n) != s {
		if end := strings.LastIndexByte(short, ' '); end > len(short)/2 {
			short = short[:end] // whole words
		}
		return short + "..."
	}
	return s
}
