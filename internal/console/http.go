package console

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// policy lets a page run only the scripts of this server. No script can turn
// text into markup: a page that tries fails. %s is the server of the background
// pictures of maps, if there is one.
const policy = "script-src 'self'; style-src 'self'; img-src 'self' blob: data:%s; connect-src 'self'; manifest-src 'self'; worker-src 'self'; " +
	"form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const (
	sessionPath = "/console/session"
	tag         = "console"
)

// Routes adds the pages and the sessions to a.
func (s *Service) Routes(a *web.API) {
	page := func(path, summary, media string, h web.HandlerFunc) {
		a.Handle("GET", path, h, web.Doc{Summary: summary, Scope: web.Public, Tag: tag, Produces: media, Light: true, Quiet: true, Page: true})
	}
	page("/console/{page...}", "The console", "text/html", s.servePage)
	page("/console/a/{version}/{file...}", "Files of the console", "text/javascript", s.serveFile)
	a.Handle("POST", sessionPath, s.serveSignIn, web.Doc{
		Summary: "Sign a browser in", Scope: web.Public, Tag: tag, Page: true,
	})
	a.Handle("POST", "/console/invite", s.serveInvite, web.Doc{Summary: "Look at an invitation", Scope: web.Public, Tag: tag, Page: true})
	a.Handle("GET", sessionPath, s.serveSession, web.Doc{Summary: "Read the session of this browser", Scope: web.Public, Tag: tag, Quiet: true, Page: true})
	a.Handle("DELETE", sessionPath, s.serveSignOut, web.Doc{Summary: "Sign this browser out", Scope: web.Public, Tag: tag, Page: true})
}

func (s *Service) servePage(w http.ResponseWriter, r *http.Request) error {
	f, err := s.files()
	if err != nil {
		return err
	}
	web.ForPage(w.Header(), r, s.policy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	write(w, web.Packed(w.Header(), r, f.index))
	return nil
}

// serveFile serves a file of the pages under their common version. Another
// version is gone: the page that asks reloads.
func (s *Service) serveFile(w http.ResponseWriter, r *http.Request) error {
	f, err := s.files()
	if err != nil {
		return err
	}
	a := f.byName[r.PathValue("file")]
	if a == nil || s.cfg.Dir == "" && r.PathValue("version") != f.version {
		return web.NoRoute(r)
	}
	h := w.Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	if s.cfg.Dir != "" {
		h.Set("Cache-Control", "no-store")
	}
	h.Set("Content-Type", a.media)
	h.Add("Vary", "Accept-Encoding")
	body := a.body
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		if packed := a.packed(); packed != nil {
			h.Set("Content-Encoding", "gzip")
			body = packed
		}
	}
	write(w, body)
	return nil
}

// write sends a whole body.
func write(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // the browser is gone when this fails
}

// maxSignIn is how many bytes a sign-in may have.
const maxSignIn = 4096

// signIn is the body of a sign-in: one of these.
type signIn struct {
	Key    string `json:"key,omitempty" doc:"Text of an API key."`
	Code   string `json:"code,omitempty" doc:"Code of a link that the server has printed."`
	Invite string `json:"invite,omitempty" doc:"Code of an invitation."`
}

// stay is what a page is told about its session, and about the server.
type stay struct {
	SignedIn  bool      `json:"signedIn"`
	ID        string    `json:"id,omitempty"`
	Name      string    `json:"name,omitempty" doc:"Name of the key."`
	Key       string    `json:"key,omitempty" doc:"Id of the key, which is no secret."`
	Principal string    `json:"principal,omitempty"`
	Workspace string    `json:"workspace,omitempty"`
	Scopes    []string  `json:"scopes,omitempty" doc:"What the caller may do."`
	Projects  []string  `json:"projects,omitempty" doc:"When given, only these projects exist for the caller."`
	EndsAt    time.Time `json:"endsAt,omitzero"`
	Areas     []string  `json:"areas" doc:"What this server serves: a twins, b surveys, c USSD, d oracle."`
	Version   string    `json:"version"`
	Tiles     *Tiles    `json:"tiles,omitempty" doc:"Pictures that lie under maps; without, there are none."`
	NewKey    string    `json:"newKey,omitempty" doc:"The key that an invitation has made; shown once."`
}

func (s *Service) stay(v *auth.Session, c web.Caller) stay {
	out := stay{Areas: s.cfg.Areas, Version: s.cfg.Version}
	if v != nil {
		out.SignedIn, out.ID, out.Name, out.Key, out.EndsAt = true, v.ID, v.Name, v.Key, v.EndsAt
		out.Principal, out.Workspace, out.Scopes, out.Projects = c.DID, c.Workspace, c.Scopes, c.Projects
		if s.cfg.Tiles.URL != "" {
			out.Tiles = &s.cfg.Tiles
		}
	}
	return out
}

// ownPage refuses what no page of this server has sent.
func ownPage(r *http.Request) error {
	if web.FromOwnPage(r) {
		return nil
	}
	return fault.New(fault.Forbidden, "PAGE_REQUIRED", "This is for the pages of this server. Programs send an API key with each request.")
}

func (s *Service) serveSignIn(w http.ResponseWriter, r *http.Request) error {
	in, err := readSignIn(w, r)
	if err != nil {
		return err
	}
	var o auth.Accepted
	switch {
	case in.Invite != "":
		o, err = s.cfg.Invites.Accept(r, in.Invite)
	case in.Code != "":
		o.Opening, err = s.cfg.Sessions.Enter(r, in.Code)
	default:
		o.Opening, err = s.cfg.Sessions.SignIn(r, strings.TrimSpace(in.Key))
	}
	if err != nil {
		return err
	}
	http.SetCookie(w, web.SessionCookie(r, o.Text, int(auth.SessionLife/time.Second)))
	v := s.stay(&o.Session, o.Caller)
	v.NewKey = o.KeyText
	return send(w, v)
}

// readSignIn reads what a page of ours signs in with.
func readSignIn(w http.ResponseWriter, r *http.Request) (in signIn, err error) {
	if err := ownPage(r); err != nil {
		return in, err
	}
	body, err := web.ReadBody(w, r, maxSignIn)
	if err != nil {
		return in, err
	}
	return in, web.DecodeStrict(body, &in, false)
}

// serveInvite shows an invitation to the holder of its link, before it is used:
// programs that open links, and its maker, must not use it up.
func (s *Service) serveInvite(w http.ResponseWriter, r *http.Request) error {
	in, err := readSignIn(w, r)
	if err != nil {
		return err
	}
	v, err := s.cfg.Invites.Look(r, in.Invite)
	if err != nil {
		return err
	}
	return send(w, invitation{Name: v.Name, Scopes: v.Scopes, EndsAt: v.EndsAt})
}

// invitation is what a person sees of an invitation before it is used.
type invitation struct {
	Name   string    `json:"name"`
	Scopes []string  `json:"scopes"`
	EndsAt time.Time `json:"endsAt"`
}

// serveSession says who is signed in. Being signed out is not an error, because
// a browser would show one to the person who opens the page.
func (s *Service) serveSession(w http.ResponseWriter, r *http.Request) error {
	v, c, err := s.cfg.Sessions.Find(r)
	if err != nil {
		return err
	}
	return send(w, s.stay(v, c))
}

func (s *Service) serveSignOut(w http.ResponseWriter, r *http.Request) error {
	if err := ownPage(r); err != nil {
		return err
	}
	v, c, err := s.cfg.Sessions.Find(r)
	if err != nil {
		return err
	}
	if v != nil {
		if _, err := s.cfg.Sessions.End(web.WithCaller(r.Context(), c), v.ID); err != nil {
			return err
		}
	}
	http.SetCookie(w, web.SessionCookie(r, "", 0))
	return send(w, s.stay(nil, web.Caller{}))
}

func send(w http.ResponseWriter, v any) error {
	body, err := web.Encode(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the browser is gone when this fails
	return nil
}
