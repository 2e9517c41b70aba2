package auth

import (
	"context"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// CodeLife is how long a code from the terminal can open a session.
const CodeLife = 10 * time.Minute

// Code makes a code that opens one session with the rights of the workspace's
// owner, from this machine. A person who can print it can open the store anyway.
// The fault is OWNER_KEY_MISSING when there is no key for the session.
func (d Sessions) Code(ctx context.Context, workspace string) (string, error) {
	code := base64.RawURLEncoding.EncodeToString(random(24))
	err := d.s.db.InTx(ctx, func(tx *db.Tx) error {
		key, err := findLasting(ctx, tx, workspace)
		if err != nil {
			return err
		}
		if key == "" {
			return fault.New(fault.NotFound, "OWNER_KEY_MISSING",
				"This workspace has no owner key without limits. Make one: hearth keys create --role owner --name <name>.")
		}
		return insertCode(ctx, tx, sessionCode{hash: digest(code), workspace: workspace, key: key, ends: d.s.now().Add(CodeLife)})
	})
	return code, err
}

// Enter opens a session for a code, and uses the code up. It works only for a
// browser on this machine: CODE_INVALID for everybody else, and for a code that
// was used or is too old. Wrong codes count like wrong keys.
func (d Sessions) Enter(r *http.Request, code string) (Opening, error) {
	ctx, addr := r.Context(), addrName(r.Context())
	var workspace, key string
	if web.IsDirectLoopback(r) && code != "" && len(code) <= maxText {
		err := d.s.db.InTx(ctx, func(tx *db.Tx) (err error) {
			workspace, key, err = takeCode(ctx, tx, digest(code), d.s.now())
			return err
		})
		if err != nil {
			return Opening{}, err
		}
	}
	if key == "" {
		// Only failures are delayed: others at this address may have used up the
		// tries.
		if err := d.s.failures.check(addr); err != nil {
			return Opening{}, err
		}
		return Opening{}, d.s.failures.count(addr, fault.New(fault.Unauthenticated, "CODE_INVALID",
			"This link was used, is older than 10 minutes, or was opened on a machine other than the server's. Print a new one on the server: hearth console link."))
	}
	g, err := d.s.byID(ctx, workspace, key, true)
	if err != nil {
		return Opening{}, err
	}
	return d.open(r, g)
}
