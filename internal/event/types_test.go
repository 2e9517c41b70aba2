package event_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
)

// written are the texts in the source that look like a type of event: dotted
// words, of which the last is in the past tense or one of a few that are not.
var written = regexp.MustCompile(`"([a-z]+\.(?:[a-z]+_)*(?:[a-z]*ed|[a-z]*drawn|errors|forgotten|gap|held|made|ready|reset|set))"`)

// other look like one and are the name of a setting.
var other = []string{"model.offered"}

// made are put together from two texts.
var made = []string{"response.updated", "response.redacted", "response.verified", "response.rejected", "response.verification_changed"}

// All types of events that the program appends are known, and no others.
func TestTypesAreThoseOfTheSource(t *testing.T) {
	t.Parallel()
	found := slices.Clone(made)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "types.go" {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range written.FindAllSubmatch(source, -1) {
			found = append(found, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	found = slices.DeleteFunc(slices.Compact(found), func(s string) bool { return slices.Contains(other, s) })
	var known []string
	for _, typ := range event.Types() {
		known = append(known, typ.Type)
		if !strings.HasSuffix(typ.Description, ".") {
			t.Errorf("%s is explained as %q, want a sentence", typ.Type, typ.Description)
		}
	}
	slices.Sort(known)
	if !slices.Equal(found, known) {
		t.Errorf("the source has %q\nknown are       %q", found, known)
	}
}

// The table in the handbook has all of them.
func TestTypesAreInTheHandbook(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range event.Types() {
		area, word, _ := strings.Cut(typ.Type, ".")
		if row := regexp.MustCompile("(?m)^\\| `" + area + `\.` + "` \\|.*`" + word + "`"); !row.Match(page) {
			t.Errorf("docs/OPERATIONS.md has no %s", typ.Type)
		}
	}
}

func TestTypesAreServed(t *testing.T) {
	t.Parallel()
	h := eventtest.Serve(t, event.New(event.Config{}).Routes)
	var list struct {
		Items []event.Type `json:"items"`
	}
	get(t, h, "ws", "/v1/events/types", &list)
	if !slices.Equal(list.Items, event.Types()) {
		t.Errorf("types = %v, want %v", list.Items, event.Types())
	}
}
