package quality

import (
	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// paceSample is how many lengths of a round are kept: its median is exact of as
// many.
const paceSample = 4096

// pace is how long the complete interviews of a round take, of all and by
// collector.
type pace struct {
	all    Sample
	by     map[string]*Sample
	median float64            // once all have been added; 0 of too few
	fast   map[string]float64 // medians of collectors who are too fast
}

func newPace() *pace {
	return &pace{all: Sample{Size: paceSample}, by: map[string]*Sample{}, fast: map[string]float64{}}
}

// secondsOf is how long a complete interview took; 0 when unknown.
func secondsOf(r *response.Row) float64 {
	if r.Status != response.Complete || r.VStatus == response.Rejected {
		return 0
	}
	var head struct {
		Seconds float64 `json:"durationSec"`
	}
	_ = json.Unmarshal(r.Body, &head) // missing members stay unknown
	return head.Seconds
}

func (p *pace) add(r *response.Row) {
	seconds := secondsOf(r)
	if seconds <= 0 {
		return
	}
	p.all.Add(r.NID, seconds)
	own := p.by[r.Collector]
	if own == nil {
		if len(p.by) == 2*maxCollectors {
			return
		}
		own = &Sample{Size: lengthSample}
		p.by[r.Collector] = own
	}
	own.Add(r.NID, seconds)
}

// settle finds the medians.
func (p *pace) settle() {
	if p.all.Count() < survey.LeastOfSurvey {
		return
	}
	p.median = Median(p.all.Values())
	for collector, own := range p.by {
		if own.Count() < survey.LeastOfCollector {
			continue
		}
		if median := Median(own.Values()); flag.IsFast(median, p.median) {
			p.fast[collector] = median
		}
	}
}

// short returns the flags of an interview that is too fast compared with the
// others.
func (p *pace) short(r *response.Row) []flag.Flag {
	if seconds := secondsOf(r); seconds > 0 && seconds < flag.Short(p.median) {
		return []flag.Flag{flag.TooFast(seconds, p.median)}
	}
	return nil
}
