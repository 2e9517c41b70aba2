package response

import (
	"sync"

	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// plan is what is read of a form once for all its responses.
type plan struct {
	checks *flag.Plan
	rows   *answer.Plan
}

// plans keeps those of the forms in use. The zero value is ready for use.
type plans struct {
	mu  sync.Mutex
	all map[*form.Form]plan
}

const maxPlans = 1000

func (p *plans) of(f *form.Form) plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one, ok := p.all[f]; ok {
		return one
	}
	if p.all == nil || len(p.all) >= maxPlans {
		p.all = map[*form.Form]plan{}
	}
	one := plan{flag.NewPlan(f), answer.NewPlan(f)}
	p.all[f] = one
	return one
}
