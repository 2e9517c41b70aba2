package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// forbiddenSQL are words that let one caller's failure undo the others of a
// group commit: they strike at COMMIT or end the whole transaction (ADR 0001).
var forbiddenSQL = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\bDEFERRABLE\b`),
	regexp.MustCompile(`(?i)\bINITIALLY\s+DEFERRED\b`),
	regexp.MustCompile(`(?i)\bON\s+CONFLICT\s+ROLLBACK\b`),
	regexp.MustCompile(`(?i)\bOR\s+ROLLBACK\b`),
	regexp.MustCompile(`(?i)\bRAISE\s*\(\s*ROLLBACK\b`),
	regexp.MustCompile(`(?i)\bdefer_foreign_keys\b`),
}

// takes are words that take away what an older program may use. Migrations with
// them are named contract_ (internal/db), from the one on that knew the rule.
var takes = regexp.MustCompile(`(?i)\bDROP\s+(?:TABLE|COLUMN)\b|\bRENAME\b|\bALTER\s+COLUMN\b`)

const ruleSince = "0083"

var sqlComment = regexp.MustCompile(`(?m)--.*$`)

func contracted(name, text string) string {
	if name < ruleSince || strings.HasPrefix(name[min(len(name), 5):], "contract_") {
		return ""
	}
	return takes.FindString(sqlComment.ReplaceAllString(text, ""))
}

var migrationName = regexp.MustCompile(`^(\d{4})_[a-z0-9_]+\.sql$`)

// checkMigrations looks at the two folders of migrations, file name → text.
func checkMigrations(sqlite, postgres map[string]string) []finding {
	found := append(missing("postgres", sqlite, postgres), missing("sqlite", postgres, sqlite)...)
	for folder, set := range map[string]map[string]string{"sqlite": sqlite, "postgres": postgres} {
		for name, text := range set {
			if m := contracted(name, text); m != "" {
				found = append(found, finding{folder + "/" + name, m + " takes away what older programs may use: name it NNNN_contract_name.sql"})
			}
			for _, word := range forbiddenSQL {
				if m := word.FindString(text); m != "" {
					found = append(found, finding{folder + "/" + name, m + " is forbidden in migrations"})
				}
			}
		}
	}
	return append(found, numbered(sqlite)...)
}

// missing wants a file for each of the other dialect. One of them may be a contract where
// the other takes nothing away.
func missing(folder string, from, in map[string]string) []finding {
	plain := func(name string) string { return strings.Replace(name, "_contract_", "_", 1) }
	there := map[string]bool{}
	for name := range in {
		there[plain(name)] = true
	}
	var found []finding
	for name := range from {
		if !there[plain(name)] {
			found = append(found, finding{folder + "/" + name, "is missing; migrations come in pairs"})
		}
	}
	return found
}

// numbered wants 0000, 0001, … without a gap.
func numbered(set map[string]string) []finding {
	var names []string
	for name := range set {
		names = append(names, name)
	}
	sort.Strings(names)
	for i, name := range names {
		m := migrationName.FindStringSubmatch(name)
		if m == nil {
			return []finding{{name, "is not NNNN_name.sql"}}
		}
		if n, _ := strconv.Atoi(m[1]); n != i {
			return []finding{{name, "breaks the sequence; want number " + strconv.Itoa(i)}}
		}
	}
	return nil
}

func migrations(t *testing.T, folder string) map[string]string {
	t.Helper()
	dir := filepath.Join(root(), "internal/db/migrations", folder)
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".sql") {
			return err
		}
		text, err := os.ReadFile(path)
		out[d.Name()] = string(text)
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("read %s: %d migrations, %v", folder, len(out), err)
	}
	return out
}

func TestMigrations(t *testing.T) {
	t.Parallel()
	report(t, checkMigrations(migrations(t, "sqlite"), migrations(t, "postgres")))
}

func TestMigrationsFindsBad(t *testing.T) {
	t.Parallel()
	good := map[string]string{"0000_a.sql": "CREATE TABLE a (id TEXT PRIMARY KEY);"}
	with := func(text string) map[string]string { return map[string]string{"0000_a.sql": text} }
	for _, tt := range []struct {
		name   string
		sqlite map[string]string
		want   string
	}{
		{"good", good, ""},
		{"deferred", with("b TEXT REFERENCES a DEFERRABLE"), "DEFERRABLE"},
		{"conflict", with("id TEXT UNIQUE ON CONFLICT ROLLBACK"), "ON CONFLICT ROLLBACK"},
		{"raise", with("SELECT RAISE( ROLLBACK, 'x')"), "ROLLBACK is forbidden"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFinding(t, checkMigrations(tt.sqlite, good), tt.want)
		})
	}
	wantFinding(t, checkMigrations(good, map[string]string{}), "pairs")
	gap := map[string]string{"0001_b.sql": ""}
	wantFinding(t, checkMigrations(gap, gap), "sequence")
	for name, want := range map[string]string{"0083_b.sql": "DROP COLUMN", "0083_contract_b.sql": ""} {
		if got := contracted(name, "ALTER TABLE a DROP COLUMN b; -- DROP TABLE a"); got != want {
			t.Errorf("%s takes away %q, want %q", name, got, want)
		}
	}
	odd := map[string]string{"first.sql": ""}
	wantFinding(t, checkMigrations(odd, odd), "NNNN")
}
