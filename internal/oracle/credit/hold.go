package credit

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// hold is the amount held back for a run, and until when: if a run lasts longer its
// server has died.
type hold struct {
	run           string
	amount, until int64
}

// holds are those of an account. They are few, and copied with each change of one.
type holds []hold

// of is the place of the hold for a run, -1 without one.
func (l holds) of(run string) int {
	return slices.IndexFunc(l, func(h hold) bool { return h.run == run })
}

// without leaves one out.
func (l holds) without(i int) holds {
	if i < 0 {
		return l
	}
	return slices.Concat(l[:i], l[i+1:])
}

// held is how much they hold back together.
func (l holds) held() (sum int64) {
	for _, h := range l {
		sum += h.amount
	}
	return sum
}

// stored is a hold as an account has it, under the name of its run.
type stored struct {
	Amount int64 `json:"amount"`
	Until  int64 `json:"until"`
}

// text is how they are stored: an object of runs, "" without any. It is written by hand,
// for that happens twice an answer.
func (l holds) text() string {
	if len(l) == 0 {
		return ""
	}
	out := append(make([]byte, 0, 80*len(l)), '{')
	for i, h := range l {
		if i > 0 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, h.run) // the id of a run is ASCII
		out = append(out, `:{"amount":`...)
		out = strconv.AppendInt(out, h.amount, 10)
		out = append(out, `,"until":`...)
		out = strconv.AppendInt(out, h.until, 10)
		out = append(out, '}')
	}
	return string(append(out, '}'))
}

// readHolds reads what text has written.
func readHolds(text string) (holds, error) {
	if text == "" {
		return nil, nil
	}
	var all map[string]stored
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, err
	}
	var out holds
	for run, h := range all {
		out = append(out, hold{run, h.Amount, h.Until})
	}
	return out, nil
}
