package intake

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// question is what a form says about a question. The whole of a group or repeat
// is one.
type question struct {
	private bool // something in it is about a person
	given   bool // something in it is answered, not calculated
}

// questionsOf are the questions of a form by their pointers. Ids of sections
// and questions need no escapes in these.
func questionsOf(f *form.Form) map[string]question {
	out := map[string]question{}
	for _, c := range f.Columns() {
		pointer := "/responses/" + c.Path[0] + "/" + c.Path[1]
		q := out[pointer]
		out[pointer] = question{q.private || c.PII.Private(), q.given || !c.Kind.Calculated}
	}
	return out
}

// notTold lists the members that differences leave out for callers who may not know
// which person a response is about. It must not depend on what the contents say.
func notTold(f *form.Form, code string) []string {
	out := []string{"/collector", "/deviceId", "/location", "/metadata"}
	if code != response.DuplicateCode { // that is of the same household
		out = append(out, "/householdId")
	}
	for pointer, q := range questionsOf(f) {
		if q.private {
			out = append(out, pointer)
		}
	}
	slices.Sort(out)
	return out
}

// pair is the answers that people gave in two contents.
type pair struct {
	form         *form.Form
	stored, sent jsontext.Value
}

func given(f *form.Form, stored, sent jsontext.Value) (pair, error) {
	ours, err := form.Given(f, stored)
	if err != nil {
		return pair{}, err
	}
	theirs, err := form.Given(f, sent)
	return pair{f, ours, theirs}, err
}

// merged merges both sets of answers. take says which one wins where both
// answer differently, by the pointer of the question; without an entry the
// question is undecided. What only one answers is taken. A caller who may not
// know personal answers must decide wherever both answer; having to decide only
// when they differ would let them guess until they agree.
func (p pair) merged(knows bool, take map[string]string) (jsontext.Value, []string) {
	out, undecided := p.join(take)
	if knows {
		return out, undecided
	}
	questions, private := questionsOf(p.form), map[string]bool{}
	undecided = slices.DeleteFunc(undecided, func(pointer string) bool { return questions[pointer].private })
	for _, one := range form.Compare(nil, p.stored) {
		private[one.Pointer] = questions[one.Pointer].private
	}
	for _, one := range form.Compare(nil, p.sent) {
		if private[one.Pointer] && take[one.Pointer] == "" {
			undecided = append(undecided, one.Pointer)
		}
	}
	slices.Sort(undecided)
	return out, undecided
}

// join is merged for callers who may know everything.
func (p pair) join(take map[string]string) (jsontext.Value, []string) {
	changes := form.Compare(p.stored, p.sent)
	if len(changes) == 0 {
		return p.stored, nil
	}
	var undecided []string
	var answers map[string]map[string]jsontext.Value
	if json.Unmarshal(p.stored, &answers) != nil || answers == nil {
		answers = map[string]map[string]jsontext.Value{}
	}
	for _, ch := range changes {
		side := take[ch.Pointer]
		if side == "" {
			switch {
			case ch.Old.IsZero():
				side = keepSent
			case ch.New.IsZero():
				side = keepStored
			default:
				undecided = append(undecided, ch.Pointer)
			}
		}
		if side != keepSent {
			continue
		}
		section, question, _ := strings.Cut(strings.TrimPrefix(ch.Pointer, "/responses/"), "/")
		if answers[section] == nil {
			answers[section] = map[string]jsontext.Value{}
		}
		if ch.New.IsZero() {
			delete(answers[section], question)
		} else {
			answers[section][question] = ch.New.Value
		}
	}
	out, err := json.Marshal(answers, json.Deterministic(true))
	if err != nil {
		return p.stored, undecided // both were read from JSON
	}
	return out, undecided
}
