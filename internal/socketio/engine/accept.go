package engine

import (
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// acceptGUID is the constant of RFC 6455, 1.3.
const acceptGUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

// ErrHandshake means that the request does not open a websocket as RFC 6455,
// 4.2.1 requires. Nothing has been written yet.
var ErrHandshake = errors.New("not a websocket handshake")

// Requested reports whether r asks for a websocket.
func Requested(r *http.Request) bool {
	return hasToken(r.Header, "Connection", "upgrade") && hasToken(r.Header, "Upgrade", "websocket")
}

// Accept answers the handshake and takes the connection over: the caller owns
// it, with no deadline set, and the handler should return soon, so that
// net/http releases its buffers. begin holds what the client sent early, for
// NewReader. The caller must have checked Origin.
func Accept(w http.ResponseWriter, r *http.Request) (conn net.Conn, begin []byte, err error) {
	key := r.Header.Get("Sec-WebSocket-Key")
	raw, err := base64.StdEncoding.DecodeString(key)
	if r.Method != http.MethodGet || !r.ProtoAtLeast(1, 1) || !Requested(r) || err != nil || len(raw) != 16 ||
		r.Header.Get("Sec-WebSocket-Version") != "13" {
		return nil, nil, ErrHandshake
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("take over the connection: %w", err)
	}
	if n := rw.Reader.Buffered(); n > 0 {
		peeked, _ := rw.Peek(n)
		begin = append(begin, peeked...)
	}
	answer := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
		AcceptKey(key) + "\r\n\r\n"
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	if _, err := conn.Write([]byte(answer)); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("answer the handshake: %w", err), conn.Close())
	}
	return conn, begin, nil
}

// AcceptKey returns the Sec-WebSocket-Accept for a Sec-WebSocket-Key.
func AcceptKey(key string) string {
	sum := sha1.Sum([]byte(key + acceptGUID))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// hasToken looks for a word in the comma lists of a header.
func hasToken(h http.Header, name, want string) bool {
	for _, line := range h.Values(name) {
		for part := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(part), want) {
				return true
			}
		}
	}
	return false
}
