package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hearth-dmrv/hearth/internal/audit"
	"github.com/hearth-dmrv/hearth/internal/cli/foreign"
)

func auditCommands() []command {
	return []command{{
		name: "audit verify", args: "<file>", summary: "Check a bundle for auditors without a server, and recompute every figure in it", run: auditVerify, flags: auditVerifyFlags,
	}}
}

type auditOptions struct{ issuer string }

func auditVerifyFlags(fs *flag.FlagSet) any {
	o := &auditOptions{}
	fs.StringVar(&o.issuer, "issuer", "", "`DID` that must have signed the bundle, as its oracle told you in another way; a did:web with its key after #")
	return o
}

// errNotAudited says that something in a bundle is not as it should be.
var errNotAudited = errors.New("the bundle is not verified")

// auditVerify checks a bundle as GET /v1/reports/{reportId}/file gives it.
func auditVerify(ctx context.Context, c *call) error {
	if len(c.args) != 1 {
		return errUsage{"verify takes the file of a bundle"}
	}
	f, err := os.Open(c.args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	o, _ := c.own.(*auditOptions) // flags made it
	r, err := audit.Verify(ctx, f, info.Size(), o.issuer)
	if err != nil {
		return err
	}
	tellAudit(c.out, r)
	switch {
	case !r.Verified():
		return errNotAudited
	case o.issuer == "":
		fmt.Fprintln(c.out, "The bundle is consistent in itself. Nobody vouched for this key: ask the issuer for its DID, and give it with --issuer.")
	default:
		fmt.Fprintln(c.out, "verified")
	}
	return nil
}

// tell writes a line about a foreign file, whose author has chosen the names in it: a
// terminal must not obey them, and show a false result.
func tell(w io.Writer, head, text string) {
	fmt.Fprintf(w, "%-12s %s\n", head, foreign.Shown(text))
}

// tellAudit describes a bundle and the findings.
func tellAudit(w io.Writer, r *audit.Report) {
	line := func(head, text string) { tell(w, head, text) }
	line("project", r.Project)
	line("made", r.Made.UTC().Format(time.RFC3339))
	line("signer", r.Issuer)
	line("key", r.Key)
	for _, t := range r.Checks {
		if n := len(t.Wrong); n > 0 {
			line(t.Name, fmt.Sprintf("%d, %d WRONG", t.Count, n))
		} else {
			line(t.Name, fmt.Sprintf("%d ok", t.Count))
		}
		for _, text := range t.Wrong {
			line("", text)
		}
	}
	for _, text := range r.Notes {
		line("note", text)
	}
}
