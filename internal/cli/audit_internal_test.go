package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/audit"
)

// A bundle of somebody who wants to deceive has names that a terminal would obey: they are
// shown, quoted.
func TestAuditShowsWhatATerminalWouldObey(t *testing.T) {
	t.Parallel()
	const hidden = "\x1b[2J\x1b[8m"
	var out bytes.Buffer
	tellAudit(&out, &audit.Report{
		Project: "did:x:1" + hidden, Issuer: "did:x:2\nverified", Key: "z6Mk", Made: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC),
		Checks: []audit.Check{{Name: "files", Count: 2, Wrong: []string{"README\xaetxt is not in the manifest.", "x" + hidden + " is missing."}}, {Name: "draws", Count: 1}},
		Notes:  []string{"Zoë’s draw" + hidden, "3 pieces of evidence are text."},
	})
	want := []string{
		`project      "did:x:1\x1b[2J\x1b[8m"`,
		`made         2026-03-01T08:00:00Z`,
		`signer       "did:x:2\nverified"`,
		`key          z6Mk`,
		`files        2, 2 WRONG`,
		`             "README\xaetxt is not in the manifest."`,
		`             "x\x1b[2J\x1b[8m is missing."`,
		`draws        1 ok`,
		`note         "Zoë’s draw\x1b[2J\x1b[8m"`,
		`note         3 pieces of evidence are text.`,
	}
	if got := strings.TrimSuffix(out.String(), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("it says\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
