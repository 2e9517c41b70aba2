package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// allow lets a server send to receivers of the test.
const allow = "HEARTH_OUTBOUND_ALLOW=127.0.0.1"

// sourceForm is how a message names the server and workspace it is from.
var sourceForm = regexp.MustCompile(`^urn:hearth:[0-9a-f]{16}:default$`)

// post is what a receiver got.
type post struct {
	head http.Header
	body []byte
}

// receiver takes messages; the first fails of them are refused.
func receiver(t *testing.T, fails int32) (url string, got <-chan post) {
	t.Helper()
	posts := make(chan post, 100)
	var left atomic.Int32
	left.Store(fails)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if left.Add(-1) >= 0 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		posts <- post{r.Header.Clone(), body}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/hook", posts
}

func TestWebhooks(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		o.Env = append(o.Env, allow)
		s := server.Run(t, o)
		ctx, c := t.Context(), owner(t, s)
		url, got := receiver(t, 0)
		hook, err := c.Webhooks.Create(ctx, client.WebhookDraft{URL: url, Events: []string{"key.*"}})
		if err != nil {
			t.Fatal(err)
		}
		k, err := c.Keys.Create(ctx, draft("announced"), client.RequestID("hook.1"))
		if err != nil {
			t.Fatal(err)
		}
		p := receive(t, got, "the message about the key")
		m, err := client.WebhookParse(hook.Secret, p.head, p.body)
		if err != nil || m.Type != "key.created" || m.Subject != k.ID || m.Data.RequestID != "hook.1" || m.Data.Actor != k.CreatedBy {
			t.Errorf("message = %+v, %v; want the creation of %s", m, err, k.ID)
		}
		if !sourceForm.MatchString(m.Source) {
			t.Errorf("source = %q, want one that names this server and the workspace", m.Source)
		}
		if media := p.head.Get("Content-Type"); media != "application/cloudevents+json" {
			t.Errorf("Content-Type = %q, want application/cloudevents+json", media)
		}
		if err := client.WebhookVerify(hook.Secret, p.head, append(p.body, ' ')); err == nil {
			t.Error("a changed body has a good signature")
		}
		until(t, "the delivery is entered as delivered", func() bool {
			page, err := c.Webhooks.DeliveryPage(ctx, hook.ID, client.DeliveryQuery{Status: "delivered"})
			return err == nil && len(page.Items) == 1 && page.Items[0].Seq == m.Data.Seq && page.Items[0].LastStatus == 200
		})
		checkHookCalls(t, c, hook, m, got)
	})
}

// checkHookCalls goes through the rest of the life of a webhook that has
// received m.
func checkHookCalls(t *testing.T, c *client.Client, hook *client.SecretWebhook, m *client.WebhookMessage, got <-chan post) {
	t.Helper()
	ctx := t.Context()
	if out, err := c.Webhooks.Ping(ctx, hook.ID); err != nil || !out.Delivered || out.Status != 200 {
		t.Errorf("ping = %+v, %v; want delivered", out, err)
	}
	p := receive(t, got, "the ping")
	if ping, err := client.WebhookParse(hook.Secret, p.head, p.body); err != nil || ping.Type != "webhook.ping" {
		t.Errorf("ping message = %+v, %v", ping, err)
	}
	if _, err := c.Webhooks.Replay(ctx, hook.ID, client.Replay{From: m.Data.Seq, To: m.Data.Seq}); err != nil {
		t.Fatal(err)
	}
	p = receive(t, got, "the replay")
	if again, err := client.WebhookParse(hook.Secret, p.head, p.body); err != nil || again.ID != m.ID {
		t.Errorf("replayed message = %+v, %v; want %s again", again, err, m.ID)
	}
	fresh, err := c.Webhooks.RotateSecret(ctx, hook.ID)
	if err != nil || fresh.Secret == hook.Secret {
		t.Fatalf("rotated secret: %v", err)
	}
	if _, err := c.Webhooks.Ping(ctx, hook.ID); err != nil {
		t.Fatal(err)
	}
	p = receive(t, got, "the ping after the change of the secret")
	for name, secret := range map[string]string{"old": hook.Secret, "new": fresh.Secret} {
		if err := client.WebhookVerify(secret, p.head, p.body); err != nil {
			t.Errorf("with the %s secret: %v, want both to fit for a while", name, err)
		}
	}
	off := false
	if _, err := c.Webhooks.Update(ctx, hook.ID, client.WebhookPatch{Active: &off}); client.CodeOf(err) != "PRECONDITION_REQUIRED" {
		t.Errorf("update without a revision: %v, want PRECONDITION_REQUIRED", err)
	}
	now, err := c.Webhooks.Get(ctx, hook.ID)
	if err != nil {
		t.Fatal(err)
	}
	now, err = c.Webhooks.Update(ctx, hook.ID, client.WebhookPatch{Active: &off}, client.IfRevision(now.Revision))
	if err != nil || now.Active {
		t.Fatalf("update = %+v, %v; want it switched off", now, err)
	}
	if _, err := c.Webhooks.Delete(ctx, hook.ID, client.IfRevision(now.Revision)); err != nil {
		t.Error(err)
	}
	if _, err := c.Webhooks.Get(ctx, hook.ID); client.CodeOf(err) != "WEBHOOK_NOT_FOUND" {
		t.Errorf("a deleted webhook: %v, want WEBHOOK_NOT_FOUND", err)
	}
}

// TestWebhookAfterTrouble has a receiver that refuses at first, and a server
// that is killed before the message got through.
func TestWebhookAfterTrouble(t *testing.T) {
	t.Parallel()
	o := server.Options{Dir: t.TempDir(), Env: []string{allow}}
	s := server.Run(t, o)
	url, got := receiver(t, 1)
	hook, err := owner(t, s).Webhooks.Create(t.Context(), client.WebhookDraft{URL: url, Events: []string{"key.created"}})
	if err != nil {
		t.Fatal(err)
	}
	k, err := owner(t, s).Keys.Create(t.Context(), draft("late"))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the first attempt has failed", func() bool {
		p, err := owner(t, s).Webhooks.DeliveryPage(t.Context(), hook.ID, client.DeliveryQuery{Status: "pending"})
		return err == nil && len(p.Items) == 1 && p.Items[0].LastStatus == 500 && !p.Items[0].NextAt.IsZero()
	})
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	server.Run(t, o)
	p := receive(t, got, "the message after the restart")
	if m, err := client.WebhookParse(hook.Secret, p.head, p.body); err != nil || m.Subject != k.ID {
		t.Errorf("message = %+v, %v; want the creation of %s", m, err, k.ID)
	}
}

func TestWebhookToInsideIsRefused(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	url, got := receiver(t, 0)
	for _, to := range []string{url, "http://localhost:1/x", "http://[::1]:1/x", "http://169.254.169.254/latest", "http://10.0.0.1/x", "http://0/x", "http://2130706433/x", "file:///etc/passwd"} {
		_, err := owner(t, s).Webhooks.Create(t.Context(), client.WebhookDraft{URL: to, Events: []string{"*"}})
		if client.CodeOf(err) != "WEBHOOK_INVALID" {
			t.Errorf("a webhook to %s: %v, want WEBHOOK_INVALID", to, err)
		}
	}
	select {
	case p := <-got:
		t.Errorf("the receiver got %s", p.body)
	default:
	}
}
