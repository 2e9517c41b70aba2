package db

import "fmt"

// Panic is what InTx panics with when its function did so in the writer's
// goroutine. It carries the stack of the place where it happened.
type Panic struct {
	Value any
	Stack string
}

// Error gives the value and the stack.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// Unwrap gives the value when it is an error.
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
