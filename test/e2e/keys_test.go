package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

func TestKeysLifeCycle(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, boss := t.Context(), owner(t, s)
		var meta client.Meta
		made, err := boss.Keys.Create(ctx, client.KeyDraft{Name: "tablet", Role: "auditor"}, client.RequestID("make.1"), client.WithMeta(&meta))
		if err != nil {
			t.Fatal(err)
		}
		if meta.Status != 201 || meta.Location != "/v1/api-keys/"+made.ID || meta.ETag != client.ETag(made.Revision) || meta.RequestID != "make.1" {
			t.Errorf("answer of create = %+v, want 201 with the place and tag of the key", meta)
		}
		tablet := with(t, s.URL, made.Text)
		me, err := tablet.Keys.Current(ctx)
		if err != nil || me.ID != made.ID || me.Status != "active" || me.Name != "tablet" {
			t.Errorf("current = %+v, %v; want the tablet's key, active", me, err)
		}
		if _, err := tablet.Keys.Create(ctx, draft("more")); client.CodeOf(err) != "SCOPE_MISSING" {
			t.Errorf("a key made with an auditor's key: %v, want SCOPE_MISSING", err)
		}
		next, err := boss.Keys.Rotate(ctx, made.ID, client.Rotation{})
		if err != nil || next.Replaces != made.ID || next.Text == made.Text || !slices.Equal(next.Scopes, made.Scopes) {
			t.Fatalf("rotate = %+v, %v; want a new key with the same scopes", next, err)
		}
		for name, text := range map[string]string{"old": made.Text, "new": next.Text} {
			if _, err := with(t, s.URL, text).Keys.Current(ctx); err != nil {
				t.Errorf("the %s key in the grace period: %v", name, err)
			}
		}
		if old, err := boss.Keys.Get(ctx, made.ID); err != nil || old.Status != "rotated" || old.GraceUntil.IsZero() || old.ReplacedBy != next.ID {
			t.Errorf("the old key = %+v, %v; want rotated, with the end of its grace", old, err)
		}
		last, err := boss.Keys.Rotate(ctx, next.ID, client.Rotation{Now: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := with(t, s.URL, next.Text).Keys.Current(ctx); client.CodeOf(err) != "KEY_EXPIRED" && client.CodeOf(err) != "KEY_INVALID" {
			t.Errorf("a key rotated without grace: %v, want a refusal at once", err)
		}
		if _, err := boss.Keys.Revoke(ctx, last.ID, client.IfRevision(last.Revision+7)); client.CodeOf(err) != "STALE_REVISION" {
			t.Errorf("revoke with another revision: %v, want STALE_REVISION", err)
		}
		for range 2 {
			if k, err := boss.Keys.Revoke(ctx, last.ID); err != nil || k.Status != "revoked" {
				t.Errorf("revoke = %+v, %v; want revoked, also the second time", k, err)
			}
		}
		if _, err := with(t, s.URL, last.Text).Keys.Current(ctx); client.CodeOf(err) != "KEY_INVALID" {
			t.Errorf("a revoked key: %v, want KEY_INVALID", err)
		}
		checkTrail(ctx, t, boss, made.ID)
	})
}

// checkTrail looks at what the audit view says about a key.
func checkTrail(ctx context.Context, t *testing.T, c *client.Client, id string) {
	t.Helper()
	var types []string
	for ev, err := range c.Events.Audit(ctx, client.AuditQuery{Subject: id}) {
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, ev.Type)
		if ev.Type == "key.created" && (ev.RequestID != "make.1" || !strings.HasPrefix(ev.Actor, "did:")) {
			t.Errorf("audit entry = %+v, want who did it in which request", ev)
		}
	}
	if len(types) < 2 || types[len(types)-1] != "key.created" {
		t.Errorf("audit of the key = %v, want its creation first of several", types)
	}
}

func TestKeyListPages(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		c := owner(t, s)
		want := map[string]bool{}
		for range 7 {
			k, err := c.Keys.Create(t.Context(), draft("page"))
			if err != nil {
				t.Fatal(err)
			}
			want[k.ID] = true
		}
		for k, err := range c.Keys.List(t.Context(), client.PageQuery{Limit: 3}) {
			if err != nil {
				t.Fatal(err)
			}
			delete(want, k.ID)
		}
		if len(want) > 0 {
			t.Errorf("not listed: %v", want)
		}
		_, err := c.Keys.Page(t.Context(), client.PageQuery{Cursor: "forged"})
		if client.CodeOf(err) != "INVALID_CURSOR" {
			t.Errorf("a forged cursor: %v, want INVALID_CURSOR", err)
		}
	})
}

// TestKeysOnTheCommandLine works on the store of a running server.
func TestKeysOnTheCommandLine(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		env := storeEnv(o)
		printed := ok(t, env, "keys", "create", "--name", "night shift", "--role", "auditor")
		id, text := field(printed, "id"), field(printed, "key")
		if id == "" || text == "" {
			t.Fatalf("keys create printed\n%s\nwant id and key", printed)
		}
		c := with(t, s.URL, text)
		if me, err := c.Keys.Current(t.Context()); err != nil || me.ID != id {
			t.Fatalf("the new key at the server: %+v, %v", me, err)
		}
		list := ok(t, env, "keys", "list")
		if !strings.Contains(list, id) || !strings.Contains(list, "night shift") || strings.Contains(list, text) {
			t.Errorf("keys list printed\n%s\nwant the key without its text", list)
		}
		rotated := ok(t, env, "keys", "rotate", id, "--grace", "10m")
		if _, err := with(t, s.URL, field(rotated, "key")).Keys.Current(t.Context()); err != nil {
			t.Errorf("the rotated key: %v", err)
		}
		ok(t, env, "keys", "revoke", id)
		if _, err := c.Keys.Current(t.Context()); client.CodeOf(err) != "KEY_INVALID" {
			t.Errorf("the very next request after keys revoke: %v, want KEY_INVALID", err)
		}
		if got := run(t, env, "keys", "revoke", "key_none"); got.code != 1 || !strings.Contains(got.err, "KEY_NOT_FOUND") {
			t.Errorf("keys revoke of nothing: code %d, %q; want 1 and KEY_NOT_FOUND", got.code, got.err)
		}
		if got := run(t, env, "keys", "create"); got.code != 1 || !strings.Contains(got.err, "--name") || !strings.Contains(got.err, "--scopes") {
			t.Errorf("keys create without anything: code %d, %q; want 1 and every missing member", got.code, got.err)
		}
	})
}

func TestWorkspacesAreApart(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, boss := t.Context(), owner(t, s)
		kitui, err := boss.Workspaces.Create(ctx, client.WorkspaceDraft{ID: "kitui", Name: "Kitui"})
		if err != nil {
			t.Fatal(err)
		}
		other := field(ok(t, storeEnv(o), "workspaces", "create", "lodwar"), "key")
		a, b := with(t, s.URL, kitui.OwnerKey.Text), with(t, s.URL, other)
		made, err := a.Keys.Create(ctx, draft("ours"))
		if err != nil {
			t.Fatal(err)
		}
		_, missing := b.Keys.Get(ctx, "key_00000000-0000-7000-8000-000000000000")
		for name, call := range map[string]func() error{
			"get":    func() error { _, err := b.Keys.Get(ctx, made.ID); return err },
			"rotate": func() error { _, err := b.Keys.Rotate(ctx, made.ID, client.Rotation{}); return err },
			"revoke": func() error { _, err := b.Keys.Revoke(ctx, made.ID); return err },
		} {
			if err := call(); client.CodeOf(err) != "KEY_NOT_FOUND" || message(err) != message(missing) {
				t.Errorf("%s of a foreign key: %v, want exactly what a missing one gives: %v", name, err, missing)
			}
		}
		for ev, err := range b.Events.List(ctx, client.ChangesQuery{}) {
			if err != nil || ev.Subject == made.ID {
				t.Errorf("a foreign event: %+v, %v", ev, err)
			}
		}
		if _, err := b.Workspaces.Get(ctx, "kitui"); client.CodeOf(err) != "WORKSPACE_NOT_FOUND" {
			t.Errorf("a foreign workspace: %v, want WORKSPACE_NOT_FOUND", err)
		}
		if _, err := b.Workspaces.Create(ctx, client.WorkspaceDraft{ID: "evil", Name: "x"}); client.CodeOf(err) != "SCOPE_MISSING" {
			t.Errorf("a workspace made by a tenant: %v, want SCOPE_MISSING", err)
		}
		var ids []string
		for w, err := range boss.Workspaces.List(ctx, client.PageQuery{Limit: 1}) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, w.ID)
		}
		if !slices.Equal(ids, []string{"default", "kitui", "lodwar"}) {
			t.Errorf("workspaces for the operator = %v, want all three", ids)
		}
		if list := ok(t, storeEnv(o), "workspaces", "list"); !strings.Contains(list, "kitui") || !strings.Contains(list, "lodwar") {
			t.Errorf("workspaces list printed\n%s", list)
		}
	})
}

// message is the text of a refusal without its request id.
func message(err error) string {
	text, _, _ := strings.Cut(err.Error(), " (request")
	_, text, _ = strings.Cut(text, ": ")
	return text
}
