package openrosa_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa/openrosatest"
)

// What is written as an instance is read back as the same answers.
func TestInstance(t *testing.T) {
	t.Parallel()
	for n, file := range templates(t) {
		f, x := openrosatest.Load(t, file)
		r := rand.New(rand.NewPCG(7, uint64(n)))
		for i := range 100 {
			stored := f.Check(form.Input{Answers: openrosatest.Answers(r, f.Template(), false), Now: time.Now()})
			if !stored.OK() {
				continue
			}
			raw := x.Instance(stored.Answers, openrosa.Submission{InstanceID: "uuid:1", Deprecated: "uuid:0", Device: "d&d", Start: time.Now(), End: time.Now()})
			in, err := openrosa.Parse(raw)
			if err != nil {
				t.Fatalf("%s #%d: %v\n%s", filepath.Base(file), i, err, raw)
			}
			if in.InstanceID != "uuid:1" || in.Deprecated != "uuid:0" || in.Device() != "d&d" {
				t.Errorf("%s #%d: %+v", filepath.Base(file), i, in)
			}
			answers, _, err := x.Answers(in, func(name string) string { return name })
			if err != nil {
				t.Fatalf("%s #%d: %v\n%s", filepath.Base(file), i, err, raw)
			}
			if again := f.Check(form.Input{Answers: answers, Now: time.Now()}); string(again.Answers) != string(stored.Answers) {
				t.Errorf("%s #%d: read back\n%s\nwant\n%s\n%s", filepath.Base(file), i, again.Answers, stored.Answers, raw)
			}
		}
	}
}
