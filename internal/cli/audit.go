package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/hearth-dmrv/hearth/internal/audit"
)

func auditCommands() []command {
	return []command{{
		name: "audit verify", args: "<file>", summary: "Check a bundle for auditors without a server, and make every figure in it again", run: auditVerify, flags: auditVerifyFlags,
	}}
}

type auditOptions struct{ issuer string }

func auditVerifyFlags(fs *flag.FlagSet) any {
	o := &auditOptions{}
	fs.StringVar(&o.issuer, "issuer", "", "`DID` that must have signed the bundle, as its oracle told you in another way; a did:web with its key after #")
	return o
}

// errNotAudited says that a bundle does not hold.
var errNotAudited = errors.New("the bundle does not hold")

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
	fmt.Fprintf(c.out, "project      %s\n", r.Project)
	fmt.Fprintf(c.out, "made         %s\n", r.Made.UTC().Format(time.RFC3339))
	fmt.Fprintf(c.out, "signer       %s\n", r.Issuer)
	fmt.Fprintf(c.out, "key          %s\n", r.Key)
	for _, t := range r.Checks {
		word := "ok"
		if len(t.Wrong) > 0 {
			word = "WRONG"
		}
		fmt.Fprintf(c.out, "%-12s %d %s\n", t.Name, t.Count, word)
		for _, text := range t.Wrong {
			fmt.Fprintf(c.out, "             %s\n", text)
		}
	}
	for _, text := range r.Notes {
		fmt.Fprintf(c.out, "note         %s\n", text)
	}
	if o.issuer == "" {
		fmt.Fprintf(c.out, "note         Nobody vouched for this key. Ask the issuer for its DID, and give it with --issuer.\n")
	}
	if !r.Verified() {
		return errNotAudited
	}
	fmt.Fprintln(c.out, "verified")
	return nil
}
