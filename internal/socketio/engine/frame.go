package engine

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// Opcode is the type of a frame or a message.
type Opcode byte

// The opcodes of RFC 6455, 5.2.
const (
	OpContinuation Opcode = 0x0
	OpText         Opcode = 0x1
	OpBinary       Opcode = 0x2
	OpClose        Opcode = 0x8
	OpPing         Opcode = 0x9
	OpPong         Opcode = 0xA
)

// The status codes a close frame of ours carries, RFC 6455, 7.4.1.
const (
	StatusNormal      = 1000
	StatusGoingAway   = 1001
	StatusProtocol    = 1002
	StatusUnsupported = 1003
	StatusNone        = 1005 // never sent: the peer gave no code
	StatusInvalid     = 1007 // text that is not UTF-8
	StatusPolicy      = 1008
	StatusTooBig      = 1009
)

// MaxControl limits the payload of a control frame, in bytes.
const MaxControl = 125

const (
	finBit  = 0x80
	rsvBits = 0x70
	maskBit = 0x80
)

// CloseError says why a connection must end, with the code to send.
type CloseError struct {
	Code   int
	Reason string
}

// Error returns the code and the reason.
func (e *CloseError) Error() string { return fmt.Sprintf("websocket closed: %d %s", e.Code, e.Reason) }

// HeaderSize is the number of bytes before the payload in an unmasked frame
// with n bytes of payload.
func HeaderSize(n int) int {
	switch {
	case n <= MaxControl:
		return 2
	case n <= 0xFFFF:
		return 4
	}
	return 10
}

// AppendHeader appends the header of a final, unmasked frame with n bytes of
// payload to dst.
func AppendHeader(dst []byte, op Opcode, n int) []byte {
	return appendHeader(dst, finBit|byte(op), 0, n)
}

func appendHeader(dst []byte, first, mask byte, n int) []byte {
	switch {
	case n <= MaxControl:
		return append(dst, first, mask|byte(n))
	case n <= 0xFFFF:
		return binary.BigEndian.AppendUint16(append(dst, first, mask|126), uint16(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, first, mask|127), uint64(n))
}

// Frame builds a final, unmasked websocket frame, as a server sends it.
func Frame(op Opcode, payload []byte) []byte {
	dst := make([]byte, 0, HeaderSize(len(payload))+len(payload))
	return append(AppendHeader(dst, op, len(payload)), payload...)
}

// CloseFrame builds a close frame. reason is cut to fit, at a rune.
func CloseFrame(code int, reason string) []byte {
	for len(reason) > MaxControl-2 {
		_, size := utf8.DecodeLastRuneInString(reason)
		reason = reason[:len(reason)-size]
	}
	payload := binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(reason)), uint16(code))
	return Frame(OpClose, append(payload, reason...))
}

// AppendMasked appends a masked frame, as a client sends it, to dst. With more
// set, other fragments of the message follow.
func AppendMasked(dst []byte, op Opcode, more bool, key [4]byte, payload []byte) []byte {
	first := byte(op)
	if !more {
		first |= finBit
	}
	dst = append(appendHeader(dst, first, maskBit, len(payload)), key[:]...)
	start := len(dst)
	dst = append(dst, payload...)
	mask(dst[start:], key, 0)
	return dst
}

// mask turns b into its masked form or back. The first byte of b is byte pos of
// the payload.
func mask(b []byte, key [4]byte, pos int) {
	var turned [4]byte
	for i := range turned {
		turned[i] = key[(pos+i)&3]
	}
	half := binary.LittleEndian.Uint32(turned[:])
	whole := uint64(half)<<32 | uint64(half)
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^whole)
		b = b[8:]
	}
	for i := range b {
		b[i] ^= turned[i&3]
	}
}

// checkClose reads the payload of a close frame and refuses what RFC 6455, 7.4
// forbids on the wire.
func checkClose(payload []byte) (*CloseError, error) {
	if len(payload) == 0 {
		return &CloseError{Code: StatusNone}, nil
	}
	if len(payload) == 1 {
		return nil, &CloseError{Code: StatusProtocol, Reason: "a close frame with half a code"}
	}
	code := int(binary.BigEndian.Uint16(payload))
	switch {
	case code >= 3000 && code <= 4999, code >= 1000 && code <= 1003, code >= 1007 && code <= 1014:
	default:
		return nil, &CloseError{Code: StatusProtocol, Reason: "a close code that is not for the wire"}
	}
	if !utf8.Valid(payload[2:]) {
		return nil, &CloseError{Code: StatusInvalid, Reason: "a close reason that is not UTF-8"}
	}
	return &CloseError{Code: code, Reason: string(payload[2:])}, nil
}
