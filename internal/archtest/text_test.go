package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// note is the word for work left over; spelled apart so that this file does
// not find itself.
const note = "TO" + "DO"

var (
	noteForm = regexp.MustCompile(`(context\.)?\b` + note + `\b(\(#\d+\): )?`)
	// machine paths belong to one computer. The folders are spelled apart for
	// the same reason.
	machine = regexp.MustCompile(`(^|[^\w.~-])(/` + `(home|Users)/[A-Za-z]|/` + `(root|work)/|[A-Z]:\\` + `Users\\)`)
)

// checkText looks at one text file of any kind.
func checkText(path, text string) []finding {
	var found []finding
	for i, line := range strings.Split(text, "\n") {
		f := &file{dir: filepath.ToSlash(filepath.Dir(path)), name: filepath.Base(path)}
		where := finding{where: f.dir + "/" + f.name + ":" + strconv.Itoa(i+1)}
		for _, m := range noteForm.FindAllString(line, -1) {
			if m == note {
				where.what = note + " needs an issue: " + note + "(#123): …"
				found = append(found, where)
			}
		}
		if machine.MatchString(line) {
			where.what = "the path belongs to one machine: " + strings.TrimSpace(line)
			found = append(found, where)
		}
	}
	return found
}

// texts are the endings of files people read. Others are binary or data.
func isText(path string) bool {
	switch filepath.Ext(path) {
	case ".go", ".md", ".sql", ".sh", ".yml", ".yaml", ".service", ".mod", ".html", ".css", ".ts", ".js", ".txt":
		return true
	}
	switch filepath.Base(path) {
	case "Makefile", "Dockerfile", "LICENSE", "run", ".dockerignore", ".gitignore":
		return true
	}
	return false
}

func TestText(t *testing.T) {
	t.Parallel()
	var found []finding
	err := walk(func(path string, _ fs.DirEntry) error {
		if !isText(path) {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root(), path))
		if err != nil {
			return err
		}
		if !utf8.Valid(text) {
			found = append(found, finding{path, "not UTF-8"})
		}
		found = append(found, checkText(path, string(text))...)
		return nil
	})
	if err != nil {
		t.Fatalf("read the repository: %v", err)
	}
	report(t, found)
}

func TestTextFindsBad(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "nothing to see", ""},
		{"note", "// " + note + " later", "needs an issue"},
		{"note with a person", "// " + note + "(me): later", "needs an issue"},
		{"note with an issue", "// " + note + "(#12): later", ""},
		{"home", "see /" + "home/someone/x", "one machine"},
		{"root", "see /" + "root/x", "one machine"},
		{"mac", `open("/` + `Users/someone")`, "one machine"},
		{"windows", `C:\` + `Users\x`, "one machine"},
		{"address that only looks like one", "https://example.org/" + "home/page", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFinding(t, checkText("docs/x.md", tt.in), tt.want)
		})
	}
}
