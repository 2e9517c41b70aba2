package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// Sample says which columns describe how a sample was drawn. Data that a survey
// lacks has no column.
type Sample struct {
	Weighted  bool
	Clustered bool // clusters were drawn first
	Stages    int  // at how many it is known how many units there are: fpc1, fpc2
}

// EverySample has all of the columns, for files that may come from any survey.
func EverySample() Sample { return Sample{Weighted: true, Clustered: true, Stages: 2} }

// sampleOf says which columns the files of a survey have and, if there are no
// weights, why.
func sampleOf(o *survey.Open) (_ Sample, why string) {
	s := o.Sampling
	census := s.Method == "census"
	switch {
	case !o.Probability:
		return Sample{}, "The households were not chosen by chance (" + s.Method + "), so none of them represents others."
	case census && !o.Listed && s.Population == nil && len(s.Strata) == 0:
		return Sample{}, "The survey has neither a list of households nor their number, so nothing shows which are missing."
	case !census && s.Draw == nil && s.DrawnElsewhere == nil && !o.Listed:
		return Sample{}, "The survey has no list: households came as they answered, and were not drawn."
	case !census && s.Draw == nil && s.DrawnElsewhere == nil:
		return Sample{}, "The list was made by hand: nothing shows that the households were drawn by chance. Draw it here, or record the draw in sampling.drawnElsewhere."
	}
	out := Sample{Weighted: true, Clustered: s.Method == "cluster" || s.Method == "multistage"}
	switch {
	case !out.Clustered && (census || s.Population != nil || len(s.Strata) > 1 || len(s.Strata) == 1 && s.Strata[0].Population != nil):
		out.Stages = 1
	case out.Clustered && s.ClusterSelection != "size" && len(s.Stages) > 0 && (s.Stages[0].Units != nil || len(s.Stages[0].Strata) > 0):
		out.Stages = 2
	}
	return out, ""
}

// weights holds the weights of the responses in an export.
type weights struct {
	rounds []survey.WeighedRound
	of     map[int64]*survey.Weighed // by response
	homes  map[string]bool           // households of the sample
	sum    string                    // identifies them
}

// weights reads the samples of an export; nil when the files have no weights.
func (s *Service) weights(ctx context.Context, o *survey.Open, d *Draft) (*weights, error) {
	if kind, _ := sampleOf(o); !kind.Weighted || s.cfg.Weigh == nil {
		return nil, nil //nolint:nilnil // no weights, which is not an error
	}
	rounds := d.Rounds
	for i := 1; len(d.Rounds) == 0 && i <= o.Round; i++ {
		rounds = append(rounds, i)
	}
	all, err := s.cfg.Weigh(ctx, o, rounds, d.AsOf)
	if err != nil {
		return nil, err
	}
	w := &weights{rounds: all, of: map[int64]*survey.Weighed{}, homes: map[string]bool{}}
	h := sha256.New()
	for i := range all {
		_, _ = fmt.Fprintf(h, "%d %s\n", all[i].Round, all[i].Why)
		for j := range all[i].Homes {
			w.add(h, &all[i].Homes[j])
		}
	}
	w.sum = hex.EncodeToString(h.Sum(nil)[:8])
	return w, nil
}

func (w *weights) add(h hash.Hash, one *survey.Weighed) {
	w.homes[one.HouseholdID] = true
	if one.Response != 0 {
		w.of[one.Response] = one
	}
	_, _ = fmt.Fprintf(h, "%s %d %s %v %v\n", one.HouseholdID, one.Response, one.Class, one.Weight, one.FPC)
}

// sampleHeads are the columns that describe the sample. Rows without an answer
// have no weight.
func sampleHeads(s Sample) []headColumn {
	text, number := string(form.FreeText), string(form.Number)
	col := func(name, typ, label string, get func(*survey.Weighed) cell) headColumn {
		return headColumn{Column{Name: name, Type: typ, Label: form.Text{"en": label}}, None, false, func(l *Layout, r *Response) cell {
			if l.cfg.weights == nil || l.cfg.weights.of[r.NID] == nil {
				return cell{}
			}
			return get(l.cfg.weights.of[r.NID])
		}}
	}
	out := []headColumn{
		col("weight", number, "How many households of the population it stands for; empty when the response does not count", func(w *survey.Weighed) cell { return amount(w.Weight) }),
		col("outcome", text, "How the household counts in figures, by this response", nil),
	}
	out[1].get = (*Layout).outcomeCell
	if s.Clustered {
		out = append(out, col("cluster", text, "First-stage unit of the sample (PSU)", func(w *survey.Weighed) cell { return word(w.Cluster) }))
	}
	for stage := range s.Stages {
		label := []string{"Households of the stratum, of which some were drawn", "Households of the cluster, of which some were drawn"}[stage]
		if s.Clustered && stage == 0 {
			label = "Clusters of the stratum, of which some were drawn"
		}
		out = append(out, col(fpcNames[stage], number, label, func(w *survey.Weighed) cell { return amount(w.FPC[stage]) }))
	}
	return out
}

// fpcNames are the columns for the units of the stages, as finite population
// corrections need them.
var fpcNames = [...]string{"fpc1", "fpc2"}

// amount is a number that is not known when it is 0.
func amount(v float64) cell {
	if v == 0 {
		return cell{}
	}
	return cell{kind: number, s: strconv.FormatFloat(v, 'f', -1, 64)}
}

// outcomeCell says how a household counts by a response.
func (l *Layout) outcomeCell(r *Response) cell {
	switch w := l.cfg.weights; {
	case w == nil:
		return cell{}
	case w.of[r.NID] != nil:
		return word(w.of[r.NID].Class)
	case w.homes[r.Household] || r.VStatus == response.Superseded:
		return word(string(response.Replaced))
	}
	return word(string(response.OffList))
}

// recordKey is the column with the record of a response, which the table of the
// sample names.
func (l *Layout) recordKey() string {
	if l.cfg.Level == Full {
		return "recordId"
	}
	return "responseId"
}

// homeNames are the columns of the table of the sample.
func (l *Layout) homeNames() []string {
	out := []string{l.recordKey(), "round"}
	if l.cfg.Level != None {
		out = append(out, "householdId")
	}
	out = append(out, "stratum", "group", "replacement", "weight", "outcome")
	if l.cfg.Sample.Clustered {
		out = append(out, "cluster")
	}
	return append(out, fpcNames[:l.cfg.Sample.Stages]...)
}

// eachHome gives emit the rows of the table of the sample: a row for each
// household in each round. A row is valid until emit returns.
func (l *Layout) eachHome(emit func([]cell) error) error {
	row := make([]cell, 0, len(l.homeNames()))
	for _, round := range l.cfg.weights.rounds {
		for i := range round.Homes {
			h := &round.Homes[i]
			row = append(row[:0], cell{}, cell{kind: integer, n: int64(round.Round)})
			if h.Response != 0 {
				row[0] = word(privacy.RecordName(h.Response))
			}
			if l.cfg.Level != None {
				row = append(row, word(l.household(h.HouseholdID)))
			}
			stands := cell{kind: integer}
			if h.Replaces != "" {
				stands.n = 1
			}
			row = append(row, word(h.Stratum), word(h.Group), stands, amount(h.Weight), word(h.Class))
			if l.cfg.Sample.Clustered {
				row = append(row, word(h.Cluster))
			}
			for stage := range l.cfg.Sample.Stages {
				row = append(row, amount(h.FPC[stage]))
			}
			if err := emit(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// openSampling is the sampling of a survey as a level shows it.
func (l *Layout) openSampling(s *survey.Sampling) survey.Sampling {
	out := *s
	if e := s.DrawnElsewhere; e != nil && l.cfg.Level != Full {
		e := *e
		e.By, e.Remark = l.cfg.Names.Person(e.By), ""
		out.DrawnElsewhere = &e
	}
	return out
}
