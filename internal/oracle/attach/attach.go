// Package attach reads the files that users attach to their messages, for the model: text
// formats become text, every other file is only named.
//
// It promises that a file is fetched only where the guarded client goes, within bounds of
// size and time, that its content is marked as a file's, and that no file, however bad,
// makes a message fail: the model is told instead. Tables of workbooks become CSV, and of
// PDFs the text is taken. Files on a homeserver are fetched with the sender's own token,
// from homeservers that the operator has listed. It does not read pictures or other
// documents.
package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/outbound"
)

// The limits of published clients, which are the defaults of Config, and ours.
const (
	MaxFile      = 25 << 20         // bytes of a file
	MaxAll       = 50 << 20         // bytes of all files of a message
	MaxTime      = 60 * time.Second // for all of them
	MaxRedirects = 5                // the client's matter
	MaxText      = 50_000           // characters of a file that the model is given
	MaxAllText   = 200_000          // characters of all files of a message
)

// What the model is told about files without text. The reason follows unread.
const (
	elsewhere = "it is attached, but not readable here: it is kept by a homeserver"
	unknown   = "it is attached, but not readable here: it is not text"
	unread    = "it is attached, but could not be read: "
)

// Why a file could not be read.
const (
	tooLarge    = "it is larger than 25 MB"
	tooMuch     = "the files of this message are larger than 50 MB together"
	tooSlow     = "it took too long"
	unreachable = "its server cannot be reached"
	forbidden   = "its address may not be called"
	notText     = "it is not text"
)

// Doer sends a request. The guarded client is one; it bounds redirects and the
// size of an answer.
type Doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// Config configures a Reader. Zero values are the defaults.
type Config struct {
	Client          Doer   // required
	Homes           []Home // homeservers that may be asked
	MaxFile, MaxAll int64
	MaxTime         time.Duration
	Log             *slog.Logger // nil: silent
}

// Reader reads attachments. A nil Reader reads none. It is safe for concurrent
// use.
type Reader struct {
	cfg       Config
	documents chan struct{} // a place for each that is read
}

// New makes a Reader.
func New(c Config) *Reader {
	if c.MaxFile <= 0 {
		c.MaxFile = MaxFile
	}
	if c.MaxAll <= 0 {
		c.MaxAll = MaxAll
	}
	if c.MaxTime <= 0 {
		c.MaxTime = MaxTime
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return &Reader{cfg: c, documents: make(chan struct{}, documentsOnce)}
}

// Read returns the attachments of one message as the model gets them: each with
// its text, or with a note that says why there is none. It returns when ctx
// ends, at the latest after MaxTime.
func (r *Reader) Read(ctx context.Context, list []llm.Attachment, from Sender) []llm.Attachment {
	if len(list) == 0 {
		return nil
	}
	out := append([]llm.Attachment(nil), list...)
	var all sync.WaitGroup
	if r != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.cfg.MaxTime)
		defer cancel()
	}
	var spent atomic.Int64 // bytes of all files
	for i := range out {
		a := &out[i]
		switch {
		case a.Text != "" || a.URL != "": // read before
		case !onWeb(a.MXCURI) && (r == nil || len(r.cfg.Homes) == 0):
			a.Note = elsewhere
		case r == nil || !readable(a.MIMEType, a.Filename) && !isBook(a.MIMEType, a.Filename) && !isDocument(a.MIMEType, a.Filename):
			a.Note = unknown
		case a.Size > r.cfg.MaxFile:
			a.Note = unread + tooLarge
		default:
			all.Go(func() { r.readOne(ctx, a, from, &spent) })
		}
	}
	all.Wait()
	trim(out, MaxAllText)
	return out
}

// onWeb reports whether an address is one of the web, not of a homeserver.
func onWeb(address string) bool {
	return strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://")
}

// readOne fetches a file and gives it its text or its note.
func (r *Reader) readOne(ctx context.Context, a *llm.Attachment, from Sender, spent *atomic.Int64) {
	text, whole, err := r.fetch(ctx, a, from, spent)
	if err != nil {
		reason := explain(ctx, err)
		r.cfg.Log.InfoContext(ctx, "attachment not read", "reason", reason+hint(err))
		a.Note = unread + reason
		return
	}
	a.Text = text
	if !whole {
		a.Note = cutNote(MaxText)
	}
}

// cutNote says that a text is only a beginning.
func cutNote(n int) string { return "only its first " + strconv.Itoa(n) + " characters are given" }

// refusal is a reason in words that may be shown.
type refusal string

// Error gives the reason.
func (r refusal) Error() string { return string(r) }

func (r *Reader) fetch(ctx context.Context, a *llm.Attachment, from Sender, spent *atomic.Int64) (text string, whole bool, err error) {
	ask := func() (*http.Response, error) { return r.kept(ctx, a.MXCURI, a.EventID, from) }
	if onWeb(a.MXCURI) {
		ask = func() (*http.Response, error) { return r.get(ctx, a.MXCURI) }
	}
	res, err := ask()
	if err != nil {
		return "", false, err
	}
	defer res.Body.Close()
	kind := res.Header.Get("Content-Type")
	switch {
	case res.ContentLength > r.cfg.MaxFile:
		return "", false, refusal(tooLarge)
	case spent.Add(max(res.ContentLength, 0)) > r.cfg.MaxAll:
		return "", false, refusal(tooMuch)
	case isBook(a.MIMEType, a.Filename):
		return table(res.Body)
	case isDocument(a.MIMEType, a.Filename):
		return r.document(ctx, res.Body)
	case kind != "" && !readable(kind, a.Filename):
		return "", false, refusal(notText)
	}
	// No more than the model is given: the rest of a long file is not fetched.
	raw, err := io.ReadAll(io.LimitReader(res.Body, readBytes))
	if err != nil {
		return "", false, err
	}
	text, ok := decode(raw, kind)
	switch {
	case !onWeb(a.MXCURI) && sealed(text, ok, kind):
		return "", false, refusal(maybeSealed)
	case !ok:
		return "", false, refusal(notText)
	}
	text, whole = beginning(text, MaxText)
	return text, whole && len(raw) < readBytes, nil
}

// get asks a server of the web.
func (r *Reader) get(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, refusal(forbidden)
	}
	req.Header.Set("Accept", "text/*, application/json, application/xml, */*;q=0.1")
	res, err := r.cfg.Client.Do(req)
	if err == nil && res.StatusCode != http.StatusOK {
		_ = res.Body.Close() // the status says all
		return nil, refusal(fmt.Sprintf("its server answers %d", res.StatusCode))
	}
	return res, err
}

// explain says why a file could not be read. It does not distinguish a host
// that does not exist from one inside our network; otherwise anybody could
// probe for the latter.
func explain(ctx context.Context, err error) string {
	var why refusal
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &why):
		return string(why)
	case errors.Is(err, outbound.ErrTooLarge):
		return tooLarge
	case outbound.HostTrouble(err):
		return unreachable
	case fault.CodeOf(err) == "OUTBOUND_REFUSED":
		return forbidden
	case ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		return tooSlow
	}
	var wrong *url.Error
	if errors.As(err, &wrong) && wrong.Op == "parse" {
		return forbidden
	}
	return unreachable
}

// hint is for the log only: what the guard has against the address, in its own
// words. They name no address, which may hold a secret.
func hint(err error) string {
	if refused := fault.As(err); refused != nil && refused.Code == "OUTBOUND_REFUSED" {
		return "; the guard of outgoing requests says: " + refused.Message
	}
	return ""
}

// trim keeps so many characters of all texts together, of the first files first.
func trim(list []llm.Attachment, most int) {
	for i := range list {
		a := &list[i]
		n := len([]rune(a.Text))
		if n > most {
			a.Text, _ = beginning(a.Text, most)
			a.Note = cutNote(most)
		}
		most = max(most-n, 0)
	}
}

// Kept returns the part of a message's attachments that is stored for later
// turns: their notes, and as much of their texts as one file may have.
func Kept(list []llm.Attachment) []llm.Attachment {
	out := append([]llm.Attachment(nil), list...)
	trim(out, MaxText)
	return out
}
