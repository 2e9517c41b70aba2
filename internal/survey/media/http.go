package media

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

var hashForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Sees reports whether the caller of ctx sees a response, by its number.
type Sees func(ctx context.Context, response int64) (bool, error)

// Routes adds files to a.
func (s *Store) Routes(a *web.API, sees Sees) {
	const route, group = "/v1/attachments/{sha256}", "attachments"
	a.Handle(http.MethodPut, route, s.servePut, web.Doc{
		Summary: "Send an attachment", Status: http.StatusCreated, Also: []int{http.StatusOK}, Scope: "responses:write", Tag: group, Answer: Info{},
		Consumes: "application/octet-stream, image/jpeg, image/png, audio/mpeg, audio/ogg, application/pdf",
		Description: "The body is the file as it is, at most 20 MiB, of any type. Content-Type must be the type that its bytes have, or application/octet-stream; its name is its SHA-256. Answers name it as sha256:…, before or after it was sent. " +
			"Sending a file again is answered with 200 and stores nothing more. A file that no response uses is removed after 14 days.",
		Codes: []string{"ATTACHMENT_MISMATCH", "ATTACHMENT_TYPE", "IMAGE_TOO_LARGE", "BODY_REQUIRED", "BODY_TOO_LARGE", "TOO_MANY_FILES", "INVALID_PARAMETER"},
	})
	a.Handle(http.MethodGet, route, func(w http.ResponseWriter, r *http.Request) error { return s.serveGet(w, r, sees) }, web.Doc{
		Summary: "Read an attachment", Scope: "responses:read", Tag: group, Produces: "application/octet-stream",
		Description: "Its sender may read it, as may everybody who sees a response that has it. If it answers a personal question, the scope responses:pii is needed too. Verifiers read the attachments of a response under its evidence. HEAD reports whether it has arrived.",
		Codes:       []string{"ATTACHMENT_NOT_FOUND"},
	})
}

// NotFound is the fault of a file that does not exist for the caller.
func NotFound() error {
	return fault.New(fault.NotFound, "ATTACHMENT_NOT_FOUND", "No attachment has this hash.")
}

// Info is the type of package api.
type Info = api.Attachment

func path(hash string) string { return "/v1/attachments/" + hash }

type input struct {
	SHA256 string `path:"sha256"`
}

func (in *input) check() error {
	if hashForm.MatchString(in.SHA256) {
		return nil
	}
	return fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
		With(fault.Field{Pointer: "path/sha256", Code: "invalid", Detail: "The value must be 64 hex digits in lower case."})
}

// servePut takes a file. It reads as slowly as the client sends, so it
// gives its place back first; pace, size and number of files are bounded.
func (s *Store) servePut(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[input](r)
	if err == nil {
		err = in.check()
	}
	if err != nil {
		return err
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return fault.New(fault.Unsupported, "UNSUPPORTED_ENCODING", "Send the body without a content encoding.").
			With(fault.Field{Pointer: "header/Content-Encoding", Code: "unsupported", Detail: "Only identity is accepted."})
	}
	kind, err := ParseType(r.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	if r.ContentLength > MaxBytes {
		w.Header().Set("Connection", "close") // the rest is not read
		return TooLarge()
	}
	ctx := r.Context()
	caller := web.CallerFrom(ctx)
	web.LeavePlace(ctx)
	f, fresh, err := s.Receive(ctx, &File{Workspace: caller.Workspace, SHA256: in.SHA256, MediaType: kind, Sender: caller.DID},
		http.MaxBytesReader(w, r.Body, MaxBytes))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if fresh {
		status = http.StatusCreated
	}
	info := Info{SHA256: f.SHA256, MediaType: f.MediaType, Bytes: f.Bytes, ReceivedAt: time.UnixMilli(f.At).UTC()}
	info.Links.Self = path(f.SHA256)
	body, err := web.Encode(info)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Location", info.Links.Self)
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone when this fails
	return nil
}

// serveGet sends a file. An uploaded file is never shown as one of our pages.
func (s *Store) serveGet(w http.ResponseWriter, r *http.Request, sees Sees) error {
	in, err := web.Bind[input](r)
	if err == nil {
		err = in.check()
	}
	if err != nil {
		return err
	}
	f, err := s.readable(r.Context(), in.SHA256, sees)
	if err != nil {
		return err
	}
	return s.Serve(w, r, f)
}

// Serve answers a request with a file. The caller of Serve has checked the
// right to read it.
func (s *Store) Serve(w http.ResponseWriter, r *http.Request, f *File) error {
	defer s.flights.Begin(flight(f.id))()
	if again, err := Find(r.Context(), s.db, f.Workspace, f.SHA256); err != nil {
		return err
	} else if again == nil || again.id != f.id {
		return NotFound() // it was dropped since it was found
	}
	h := w.Header()
	h.Set("Content-Type", f.MediaType)
	h.Set("Content-Disposition", `attachment; filename="`+f.SHA256[:16]+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, no-store")
	web.LeavePlace(r.Context())
	return web.SendContent(w, r, `"`+f.SHA256+`"`, s.Open(r.Context(), f))
}

// readable finds a file the caller may read: its own, or one that a response has
// which it sees; one of an answer about a person needs responses:pii. The fault
// is ATTACHMENT_NOT_FOUND.
func (s *Store) readable(ctx context.Context, hash string, sees Sees) (*File, error) {
	caller := web.CallerFrom(ctx)
	f, err := Find(ctx, s.db, caller.Workspace, hash)
	if err != nil || f != nil && f.Sender == caller.DID {
		return f, err
	}
	may, hidden := false, false
	if f != nil && !caller.May("responses:pii") {
		if hidden, err = isPrivate(ctx, s.db, caller.Workspace, hash); err != nil {
			return nil, err
		}
	}
	if f != nil && !hidden {
		may, err = Uses(ctx, s.db, Use{Workspace: caller.Workspace, SHA256: hash, Private: caller.May("responses:pii")}, func(nid int64) (bool, error) {
			return sees(ctx, nid)
		})
	}
	if err == nil && !may {
		err = NotFound()
	}
	return f, err
}
