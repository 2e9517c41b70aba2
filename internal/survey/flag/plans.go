package flag

import (
	"sync"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Plans keeps what the checks need to know of the forms in use. The zero value
// is ready for use.
type Plans struct {
	mu  sync.Mutex
	all map[*form.Form]*Plan
}

const maxPlans = 1000

// Of is the plan of a form.
func (p *Plans) Of(f *form.Form) *Plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	if plan := p.all[f]; plan != nil {
		return plan
	}
	if p.all == nil || len(p.all) >= maxPlans {
		p.all = map[*form.Form]*Plan{}
	}
	plan := NewPlan(f)
	p.all[f] = plan
	return plan
}

// Asked reports whether a question was to be asked.
func Asked(sections []form.SectionView, path []string) bool {
	for _, s := range sections {
		if s.ID == path[0] {
			return s.Relevant && questionAsked(s.Questions, path[1:])
		}
	}
	return false
}

func questionAsked(questions []form.QuestionView, path []string) bool {
	for _, q := range questions {
		if len(path) > 0 && q.ID == path[0] {
			return q.Relevant && (len(path) == 1 || len(q.Questions) == 0 || questionAsked(q.Questions, path[1:]))
		}
	}
	return false
}
