package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/ops"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// withCore opens the store for one command, possibly beside a server that uses
// it.
func withCore(ctx context.Context, c *call, f func(*app.Core) error) (err error) {
	log, _ := ops.NewLog(ops.LogConfig{Writer: c.err, Level: c.cfg.Observe.LogLevel + 4, Format: c.cfg.Observe.LogFormat})
	core, err := app.OpenCore(ctx, c.cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, core.Close()) }()
	return f(core)
}

// asOwner acts as the owner of a workspace: a person who can open the store may
// do everything.
func asOwner(ctx context.Context, c *call, workspace string, f func(context.Context, *app.Core) error) error {
	if err := c.needStore(); err != nil {
		return err
	}
	// The audit shows that no request was behind it.
	ctx = web.WithRequestID(ctx, "cli-"+db.NewID())
	return withCore(ctx, c, func(core *app.Core) error {
		ctx, err := core.Auth.AsOwner(ctx, workspace)
		if err != nil {
			return err
		}
		return f(ctx, core)
	})
}

type workspaceOf struct{ workspace string }

type keysListing struct {
	workspaceOf
	long bool
}

func keysListFlags(fs *flag.FlagSet) any {
	l := &keysListing{}
	fs.StringVar(&l.workspace, "workspace", auth.OperatorWorkspace, "`id` of the workspace")
	fs.BoolVar(&l.long, "long", false, "show prefix, scopes, principal and what each key is bound to; needs a wide window")
	return l
}

func workspaceFlag(fs *flag.FlagSet) any {
	w := &workspaceOf{}
	fs.StringVar(&w.workspace, "workspace", auth.OperatorWorkspace, "`id` of the workspace")
	return w
}

type keyFlags struct {
	workspace, name, role, scopes, principal, projects, networks string
	expires                                                      time.Duration
}

func keysCreateFlags(fs *flag.FlagSet) any {
	k := &keyFlags{}
	fs.StringVar(&k.workspace, "workspace", auth.OperatorWorkspace, "`id` of the workspace")
	fs.StringVar(&k.name, "name", "", "what the key is for (needed)")
	fs.StringVar(&k.role, "role", "", "named set of scopes: "+roleNames())
	fs.StringVar(&k.scopes, "scopes", "", "scopes separated by commas, such as entities:read,surveys:*")
	fs.StringVar(&k.principal, "principal", "", "`DID` that the key speaks for; a new one by default")
	fs.StringVar(&k.projects, "projects", "", "`DIDs` of the only projects the key can see, separated by commas")
	fs.StringVar(&k.networks, "networks", "", "networks the key works from, separated by commas")
	fs.DurationVar(&k.expires, "expires-in", 0, "`time` after which the key stops working, such as 720h; never by default")
	return k
}

// roleNames lists the roles for help.
func roleNames() string {
	var names []string
	for _, r := range auth.Roles() {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

func keysCreate(ctx context.Context, c *call) error {
	k := c.own.(*keyFlags)
	d := auth.Draft{Name: k.name, Role: k.role, Principal: k.principal, Scopes: list(k.scopes), Projects: list(k.projects), Networks: list(k.networks)}
	if k.expires > 0 {
		d.ExpiresAt = time.Now().Add(k.expires)
	}
	return asOwner(ctx, c, k.workspace, func(ctx context.Context, core *app.Core) error {
		issued, err := core.Auth.Create(ctx, d)
		if err != nil {
			return err
		}
		printIssued(c.out, issued)
		return nil
	})
}

func printIssued(w io.Writer, i auth.Issued) {
	fmt.Fprintf(w, "id         %s\nprincipal  %s\nscopes     %s\nkey        %s\n           This is shown once.\n", i.ID, i.Principal, strings.Join(i.Scopes, ","), i.Text)
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func keysList(ctx context.Context, c *call) error {
	l := c.own.(*keysListing)
	return asOwner(ctx, c, l.workspace, func(ctx context.Context, core *app.Core) error {
		head, row := "ID\tENDS\tLAST USED\tMAY\tNAME", shortKey
		if l.long {
			head, row = "ID\tPREFIX\tSTATUS\tEXPIRES\tLAST USED\tSCOPES\tPRINCIPAL\tBOUND TO\tNAME", longKey
		}
		tw := c.table(head)
		for after, more := "", true; more; {
			keys, next, err := core.Auth.List(ctx, "", after, 100)
			if err != nil {
				return err
			}
			for _, k := range keys {
				fmt.Fprintln(tw, strings.Join(row(k), "\t"))
				after = k.ID
			}
			more = next != nil
		}
		return tw.Flush()
	})
}

// shortKey is what fits a window of 100 columns.
func shortKey(k auth.Key) []string {
	end := date(ends(k))
	if k.Status == auth.Revoked || k.Status == auth.Expired {
		end = string(k.Status)
	}
	return []string{k.ID, end, date(k.LastUsedAt), mayOf(k), cut(k.Name, 22)}
}

func longKey(k auth.Key) []string {
	return []string{k.ID, k.Prefix, string(k.Status), day(ends(k)), day(k.LastUsedAt), strings.Join(k.Scopes, ","), k.Principal, cmp.Or(strings.Join(k.BoundTo, ","), "-"), k.Name}
}

// ends is when a key stops working.
func ends(k auth.Key) time.Time {
	if k.Status == auth.Rotated {
		return k.GraceUntil
	}
	return k.ExpiresAt
}

// mayOf is what a key may do in a word: the role with these scopes, or how many
// scopes it has.
func mayOf(k auth.Key) string {
	have := slices.Sorted(slices.Values(k.Scopes))
	for _, r := range auth.Roles() {
		if slices.Equal(have, slices.Sorted(slices.Values(r.Scopes))) {
			return r.Name
		}
	}
	return fmt.Sprintf("%d scopes", len(have))
}

// cut shortens what would break the columns.
func cut(text string, limit int) string {
	if r := []rune(text); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return text
}

func date(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.DateOnly)
}

func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04")
}

type rotateFlags struct {
	workspaceOf
	grace time.Duration
}

func keysRotateFlags(fs *flag.FlagSet) any {
	r := &rotateFlags{}
	fs.StringVar(&r.workspace, "workspace", auth.OperatorWorkspace, "`id` of the workspace")
	fs.DurationVar(&r.grace, "grace", time.Hour, "`time` the old key still works, up to 24h; 0 ends it at once")
	return r
}

func keysRotate(ctx context.Context, c *call) error {
	id, err := c.one("key id")
	if err != nil {
		return err
	}
	r := c.own.(*rotateFlags)
	seconds := int64(r.grace / time.Second)
	return asOwner(ctx, c, r.workspace, func(ctx context.Context, core *app.Core) error {
		issued, err := core.Auth.Rotate(ctx, id, auth.Rotation{GraceSeconds: &seconds})
		if err != nil {
			return err
		}
		printIssued(c.out, issued)
		return nil
	})
}

type revokeFlags struct {
	workspaceOf
	force bool
}

func keysRevokeFlags(fs *flag.FlagSet) any {
	r := &revokeFlags{}
	fs.StringVar(&r.workspace, "workspace", auth.OperatorWorkspace, "`id` of the workspace")
	fs.BoolVar(&r.force, "force", false, "revoke the last owner key too; until keys create makes another, only this machine can")
	return r
}

func keysRevoke(ctx context.Context, c *call) error {
	id, err := c.one("key id")
	if err != nil {
		return err
	}
	r := c.own.(*revokeFlags)
	return asOwner(ctx, c, r.workspace, func(ctx context.Context, core *app.Core) error {
		if r.force {
			_, err = core.Auth.RevokeAny(ctx, id)
		} else {
			_, err = core.Auth.Revoke(ctx, id, "")
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "%s is revoked.\n", id)
		return nil
	})
}

type workspaceName struct{ name string }

func workspacesCreateFlags(fs *flag.FlagSet) any {
	w := &workspaceName{}
	fs.StringVar(&w.name, "name", "", "what people call it; the id by default")
	return w
}

func workspacesCreate(ctx context.Context, c *call) error {
	id, err := c.one("workspace id")
	if err != nil {
		return err
	}
	name := c.own.(*workspaceName).name
	if name == "" {
		name = id
	}
	return asOwner(ctx, c, auth.OperatorWorkspace, func(ctx context.Context, core *app.Core) error {
		opened, err := core.Auth.CreateWorkspace(ctx, auth.WorkspaceDraft{ID: id, Name: name})
		if err != nil {
			return err
		}
		fmt.Fprintf(c.out, "workspace %s is there. Its owner key:\n", opened.ID)
		printIssued(c.out, opened.OwnerKey)
		return nil
	})
}

func workspacesList(ctx context.Context, c *call) error {
	return asOwner(ctx, c, auth.OperatorWorkspace, func(ctx context.Context, core *app.Core) error {
		tw := c.table("ID\tCREATED\tNAME")
		for after, more := "", true; more; {
			page, next, err := core.Auth.ListWorkspaces(ctx, after, 100)
			if err != nil {
				return err
			}
			for _, w := range page {
				fmt.Fprintf(tw, "%s\t%s\t%s\n", w.ID, day(w.CreatedAt), w.Name)
				after = w.ID
			}
			more = next && len(page) > 0
		}
		return tw.Flush()
	})
}
