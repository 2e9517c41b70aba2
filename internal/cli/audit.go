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
	fmt.Fprintf(c.out, "project      %s\n", r.Project)
	fmt.Fprintf(c.out, "made         %s\n", r.Made.UTC().Format(time.RFC3339))
	fmt.Fprintf(c.out, "signer       %s\n", r.Issuer)
	fmt.Fprintf(c.out, "key          %s\n", r.Key)
	for _, t := range r.Checks {
		if n := len(t.Wrong); n > 0 {
			fmt.Fprintf(c.out, "%-12s %d, %d WRONG\n", t.Name, t.Count, n)
		} else {
			fmt.Fprintf(c.out, "%-12s %d ok\n", t.Name, t.Count)
		}
		for _, text := range t.Wrong {
			fmt.Fprintf(c.out, "             %s\n", text)
		}
	}
	for _, text := range r.Notes {
		fmt.Fprintf(c.out, "note         %s\n", text)
	}
	switch {
	case !r.Verified():
		return errNotAudited
	case o.issuer == "":
		fmt.Fprintln(c.out, "The bundle agrees with itself. Nobody vouched for this key: ask the issuer for its DID, and give it with --issuer.")
	default:
		fmt.Fprintln(c.out, "verified")
	}
	return nil
}
