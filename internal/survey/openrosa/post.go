package openrosa

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"unicode"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// instancePart is the part with the instance.
const instancePart = "xml_submission_file"

// post is what one request has brought.
type post struct {
	instance []byte
	files    map[string]string // hashes by name
}

func invalid(pointer, code, detail string) error {
	return fault.New(fault.Invalid, "SUBMISSION_INVALID", "The submission cannot be accepted.").With(fault.Field{Pointer: pointer, Code: code, Detail: detail})
}

// read reads a post. Its files are stored as they arrive, one in memory at a
// time; those that no submission names expire. Faults: SUBMISSION_INVALID,
// BODY_TOO_LARGE and those of attachments.
func (s *Service) read(ctx context.Context, w http.ResponseWriter, r *http.Request) (*post, error) {
	if r.ContentLength > maxPost {
		w.Header().Set("Connection", "close") // the rest is not read
		return nil, media.TooLarge()
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxPost)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, invalid("header/Content-Type", "unsupported", "The body must be "+mediaForm+" with the part "+instancePart+".")
	}
	p := &post{files: map[string]string{}}
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF) && p.instance == nil:
			return nil, invalid("/"+instancePart, "required", "The post has no part "+instancePart+".")
		case errors.Is(err, io.EOF):
			return p, nil
		case err != nil:
			return nil, cut(err)
		case n > 2*maxFiles:
			return nil, invalid("", "too_many", fmt.Sprintf("A submission has %d files at most.", maxFiles))
		}
		if err := s.part(ctx, part, p); err != nil {
			return nil, err
		}
	}
}

// cut names what went wrong with a body.
func cut(err error) error {
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return media.TooLarge()
	}
	return fault.New(fault.Invalid, "BODY_UNREADABLE", "The body could not be read to its end.").Wrap(err)
}

// part takes one part of a post.
func (s *Service) part(ctx context.Context, part *multipart.Part, p *post) error {
	name := part.FileName()
	if part.FormName() == instancePart {
		if p.instance != nil {
			return invalid("/"+instancePart, "duplicate", "The post has two instances.")
		}
		raw, free, err := s.whole(ctx, part, MaxInstance)
		free()
		p.instance = raw
		return err
	}
	if name == "" { // a word of the device to the server, such as that more comes
		_, err := io.Copy(io.Discard, io.LimitReader(part, 1<<10))
		return err
	}
	if err := checkName(name); err != nil {
		return err
	}
	if len(p.files) == maxFiles {
		return invalid("", "too_many", fmt.Sprintf("A submission has %d files at most.", maxFiles))
	}
	raw, free, err := s.whole(ctx, part, media.MaxBytes)
	defer free()
	if err != nil {
		return err
	}
	if len(raw) == 0 {
		return nil // the device has lost it; the submission waits, and goes on without it
	}
	p.files[name], err = s.attach(ctx, raw, part.Header.Get("Content-Type"))
	return err
}

// checkName requires a plain name. It is only compared, and never used as a
// path.
func checkName(name string) error {
	if len(name) > maxName || strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") || strings.ContainsFunc(name, unicode.IsControl) {
		return invalid("/filename", "invalid", fmt.Sprintf("The name of a file has %d bytes at most, no slash or control character, and does not begin with a dot.", maxName))
	}
	return nil
}

// attach stores a file by its hash.
func (s *Service) attach(ctx context.Context, raw []byte, kind string) (string, error) {
	sum := sha256.Sum256(raw)
	hash := hex.EncodeToString(sum[:])
	kind, err := media.ParseType(kind)
	if err != nil || !file.Fits(kind, raw[:min(len(raw), sniffed)]) {
		kind = "application/octet-stream"
	}
	c := web.CallerFrom(ctx)
	_, _, err = s.cfg.Media.Receive(ctx, &media.File{Workspace: c.Workspace, SHA256: hash, MediaType: kind, Sender: c.DID}, bytes.NewReader(raw))
	return hash, err
}

const (
	sniffed = 256 << 10 // bytes by which a file is known
	chunk   = 64 << 10
	// maxHeld is how many bytes of all posts are in memory at once, and maxOfOne how many
	// of those of one sender: a phone sends one post after the other.
	maxHeld  = 256 << 20
	maxOfOne = 64 << 20
)

// pot counts the memory of posts that are being read.
type pot struct {
	mu  sync.Mutex
	all int
	of  map[sender]int
}

// sender is whose posts share a part of the memory.
type sender struct{ workspace, did string }

// take takes bytes for a sender, and reports whether there was room.
func (p *pot) take(of sender, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all+n > maxHeld || p.of[of]+n > maxOfOne {
		return false
	}
	if p.of == nil {
		p.of = map[sender]int{}
	}
	p.all, p.of[of] = p.all+n, p.of[of]+n
	return true
}

// free gives bytes back.
func (p *pot) free(of sender, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all -= n
	if p.of[of] -= n; p.of[of] <= 0 {
		delete(p.of, of)
	}
}

// whole reads a part to its end. free gives its memory back.
func (s *Service) whole(ctx context.Context, part io.Reader, most int) (raw []byte, free func(), err error) {
	c, held := web.CallerFrom(ctx), 0
	of := sender{c.Workspace, c.DID}
	free = func() { s.held.free(of, held) }
	buf := bytes.Buffer{}
	for {
		n, err := io.CopyN(&buf, part, chunk)
		if more := buf.Cap() - held; more > 0 {
			if !s.held.take(of, more) {
				return nil, free, fault.New(fault.Unavailable, "SERVER_BUSY", "Many interviews are being sent right now. Try again shortly.")
			}
			held += more
		}
		switch {
		case buf.Len() > most:
			return nil, free, fault.New(fault.TooLarge, "BODY_TOO_LARGE", fmt.Sprintf("A part of the post, the interview or a file, is larger than %d bytes.", most))
		case errors.Is(err, io.EOF) || err == nil && n < chunk:
			return buf.Bytes(), free, nil
		case err != nil:
			return nil, free, cut(err)
		}
	}
}
