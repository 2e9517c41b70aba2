package task

import (
	"context"
	"sync"
)

// Pass asks all that is due, and waits for the answers.
func (p *Plugin) Pass(ctx context.Context) error {
	var answers sync.WaitGroup
	err := p.pass(ctx, &answers)
	answers.Wait()
	return err
}
