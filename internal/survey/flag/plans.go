package flag

import (
	"sync"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Plans keeps the Plans of the forms in use. The zero value is ready for use.
type Plans struct {
	mu  sync.Mutex
	all map[*form.Form]*Plan
}

const maxPlans = 1000

// Of returns the plan of a form.
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
