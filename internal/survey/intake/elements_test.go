package intake_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/intake"
)

// A file that the store does not give is no file that is not JSON.
func TestAFailingStoreIsNoBadFile(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection lost")
	for _, text := range []string{"", "[", `{"value":`, `{"next":{"a":`, `[{"a":`, `[{"a":1}`, `[{"a":1},`} {
		next, err := intake.Submissions(io.MultiReader(strings.NewReader(text), iotest.ErrReader(lost)))
		for i := 0; err == nil && i < 3; i++ {
			err = next()
		}
		if !errors.Is(err, lost) {
			t.Errorf("%s and a failing store = %v, want %v", text, err, lost)
		}
	}
	next, err := intake.Submissions(strings.NewReader(`[{"a":`))
	if err == nil {
		err = next()
	}
	if e := sheet.AsError(err); e == nil || e.Code != "not_json" {
		t.Errorf("half a file = %v, want not_json", err)
	}
}

// endless gives one text over and over.
type endless struct{ text string }

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e.text) <= len(p) {
		n += copy(p[n:], e.text)
	}
	return n, nil
}

// A JSON file has no more submissions than a table has rows.
func TestJSONHasAsManyRowsAsTables(t *testing.T) {
	t.Parallel()
	next, err := intake.Submissions(io.MultiReader(strings.NewReader("[{}"), endless{",{}"}))
	rows := 0
	for ; err == nil && rows <= sheet.MaxRows; rows++ {
		err = next()
	}
	if e := sheet.AsError(err); e == nil || e.Code != "too_many_rows" || rows != sheet.MaxRows+1 {
		t.Errorf("after %d submissions = %v, want too_many_rows after %d", rows, err, sheet.MaxRows)
	}
}
