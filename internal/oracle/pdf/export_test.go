package pdf

import "context"

// Read is Text that panics, for tests that look for that.
func Read(ctx context.Context, raw []byte, most int) (string, bool, error) {
	return read(&work{over: ctx.Err, steps: maxSteps / 10, unpack: maxUnpack / 10}, raw, most)
}
