package pdf

import "context"

// fewSteps is what tests may spend on a file: they have many, and the race detector.
const fewSteps = maxSteps / 10

// Read is Text that panics, for tests that look for that.
func Read(ctx context.Context, raw []byte, most int) (string, bool, error) {
	return read(&work{over: ctx.Err, steps: fewSteps, unpack: maxUnpack / 10}, raw, most)
}

// Overdrawn reads a file as Read does and tells how many steps it took that it did not
// have. One value may be as long as the file, and is only paid for once it is read.
func Overdrawn(ctx context.Context, raw []byte, most int) (text string, steps int, err error) {
	w := &work{over: ctx.Err, steps: fewSteps, unpack: maxUnpack / 10}
	text, _, err = read(w, raw, most)
	return text, max(0, -w.steps-len(raw)/inStep-maxUnpack/inStep), err
}

// Tables of codes, for the test that compares them with those of package charmap.
const (
	WindowsCodes   = windowsCodes
	MacintoshCodes = macintoshCodes
)
