package db

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Panic is what InTx panics with when its function did so in the writer's
// goroutine. It carries the stack of the original panic.
type Panic struct {
	Value any
	Stack string
}

// newPanic is for the function that recovered v.
func newPanic(v any) *Panic { return &Panic{Value: v, Stack: string(debug.Stack())} }

// Error returns the value and the stack.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value when it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// result is how a function given to InTx ended.
type result struct {
	err    error
	panic  *Panic
	goexit bool // it called runtime.Goexit, as t.FailNow does
}

// tell ends the caller's InTx in the way its function has ended. after runs
// when it was stored.
func (r result) tell(after []func()) error {
	switch {
	case r.panic != nil:
		panic(r.panic)
	case r.goexit:
		runtime.Goexit()
	case r.err != nil:
		return r.err
	}
	for _, f := range after {
		f()
	}
	return nil
}
