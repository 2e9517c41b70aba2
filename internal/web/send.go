package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// minGzip is the minimum size of a compressed answer: compressing a single
// record takes longer than making it.
const minGzip = 8 << 10

// Content is a file to send.
type Content interface {
	io.ReaderAt
	Size() int64
}

// SendContent answers with a file under an ETag, which identifies its bytes: the
// whole file, the requested ranges, or 304. Text is compressed if the client
// accepts that and asks for no range; a compressed file has a different tag, so
// that halves of the two are never combined. The headers that describe the file
// are set before.
func SendContent(w http.ResponseWriter, r *http.Request, etag string, c Content) error {
	if c.Size() > 0 { // what cannot be read is found out before the first byte is promised
		if _, err := c.ReadAt(make([]byte, 1), 0); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	read := &noted{c: c}
	h := w.Header()
	if packs(h.Get("Content-Type")) {
		h.Add("Vary", "Accept-Encoding")
		if c.Size() >= minGzip && r.Method == http.MethodGet && r.Header.Get("Range") == "" && takesGzip(r) {
			return sendPacked(w, r, strings.TrimSuffix(etag, `"`)+`-gzip"`, io.NewSectionReader(read, 0, c.Size()))
		}
	}
	h.Set("ETag", etag)
	if strings.Contains(r.Header.Get("Range"), ",") {
		// Many ranges would read the same pieces repeatedly. A server may
		// send the whole instead.
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(read, 0, c.Size()))
	return read.err
}

func sendPacked(w http.ResponseWriter, r *http.Request, etag string, from io.Reader) error {
	h := w.Header()
	h.Set("ETag", etag)
	if NotModified(r, etag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Encoding", "gzip")
	h.Del("Content-Length")
	z := newPacker(w)
	from = onlyReader{from} // so that the packer gets it in pieces of its own size
	if _, err := io.Copy(z, from); err != nil {
		return err
	}
	return z.Close()
}

type onlyReader struct{ io.Reader }

// noted remembers a read error, which http.ServeContent does not report.
type noted struct {
	c   Content
	err error
}

func (n *noted) ReadAt(b []byte, off int64) (int, error) {
	done, err := n.c.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	return done, err
}

// packers are reused, because each has a megabyte of tables.
type packers struct{ pool sync.Pool }

func newPacker(w io.Writer) *gzip.Writer {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return gzip.NewWriter(w) // cannot be: the level is one of the package
	}
	return z
}

// body packs the body of an answer where that is worth it, and says so in the
// headers.
func (p *packers) body(h http.Header, r *http.Request, body []byte) []byte {
	if len(body) < minGzip {
		return body
	}
	h.Add("Vary", "Accept-Encoding")
	if !takesGzip(r) {
		return body
	}
	var out bytes.Buffer
	z, ok := p.pool.Get().(*gzip.Writer)
	if ok {
		z.Reset(&out)
	} else {
		z = newPacker(&out)
	}
	defer p.pool.Put(z)
	if _, err := z.Write(body); err != nil {
		return body
	}
	if err := z.Close(); err != nil {
		return body
	}
	h.Set("Content-Encoding", "gzip")
	return out.Bytes()
}

// Packed compresses a large body that a handler writes itself, if the client
// accepts that, and sets the headers.
func Packed(h http.Header, r *http.Request, body []byte) []byte { return new(packers).body(h, r, body) }

// packs reports whether a media type gets smaller.
func packs(media string) bool {
	return strings.HasPrefix(media, "text/") || strings.HasPrefix(media, "application/") && (strings.Contains(media, "json") || strings.Contains(media, "yaml"))
}

// takesGzip reports whether the client of a request unpacks gzip.
func takesGzip(r *http.Request) bool {
	for _, line := range r.Header["Accept-Encoding"] {
		for one := range strings.SplitSeq(line, ",") {
			name, q, _ := strings.Cut(one, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			_, q, _ = strings.Cut(strings.ReplaceAll(q, " ", ""), "q=")
			return strings.Trim(q, "0.") != "" || q == ""
		}
	}
	return false
}
