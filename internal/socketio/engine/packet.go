package engine

import (
	"bytes"
	"encoding/base64"
	"errors"
	"unicode/utf8"
)

// The packet types of engine.io, as they stand on the wire.
const (
	typeOpen    = '0'
	typeClose   = '1'
	typePing    = '2'
	typePong    = '3'
	typeMessage = '4'
	typeUpgrade = '5'
	typeNoop    = '6'
)

const (
	separator   = 0x1e // between the packets of a polling body
	binaryMark  = 'b'  // before base64, in a polling body
	frameWeight = 64   // the cost of a queued packet besides its bytes
	probe       = "probe"
)

// errPacket means that bytes are no engine.io packet.
var errPacket = errors.New("not an engine.io packet")

// Packet is a packet ready to be sent, built once as a websocket frame that all
// its receivers share; for polling its payload is taken from the frame. It
// never changes.
type Packet struct {
	frame  []byte
	head   int // where the payload begins in frame
	binary bool
}

// Text makes a message packet with the joined parts as a text payload.
func Text(parts ...[]byte) Packet {
	size := 1
	for _, p := range parts {
		size += len(p)
	}
	return build(OpText, size, []byte{typeMessage}, parts)
}

// Binary makes a message packet with a binary payload. It copies data.
func Binary(data []byte) Packet {
	p := build(OpBinary, len(data), nil, [][]byte{data})
	p.binary = true
	return p
}

// control makes a packet of another type.
func control(kind byte, data string) Packet {
	return build(OpText, 1+len(data), []byte{kind}, [][]byte{[]byte(data)})
}

func build(op Opcode, size int, first []byte, parts [][]byte) Packet {
	head := HeaderSize(size)
	frame := AppendHeader(make([]byte, 0, head+size), op, size)
	frame = append(frame, first...)
	for _, p := range parts {
		frame = append(frame, p...)
	}
	return Packet{frame: frame, head: head}
}

// weight is what the packet counts for in a queue.
func (p Packet) weight() int { return len(p.frame) + frameWeight }

// appendPolling appends the packet to the body of a poll.
func (p Packet) appendPolling(body []byte) []byte {
	if len(body) > 0 {
		body = append(body, separator)
	}
	if p.binary {
		return base64.StdEncoding.AppendEncode(append(body, binaryMark), p.frame[p.head:])
	}
	return append(body, p.frame[p.head:]...)
}

// received is a packet from a client.
type received struct {
	kind   byte
	binary bool
	data   []byte
}

// parseText reads a packet of a websocket text frame.
func parseText(b []byte) (received, error) {
	if len(b) == 0 || b[0] < typeOpen || b[0] > typeNoop {
		return received{}, errPacket
	}
	return received{kind: b[0], data: b[1:]}, nil
}

// parsePolling takes the first packet off the body of a polling request.
func parsePolling(body []byte) (p received, rest []byte, err error) {
	one, rest, _ := bytes.Cut(body, []byte{separator})
	if len(one) > 0 && one[0] == binaryMark {
		data, err := base64.StdEncoding.AppendDecode(nil, one[1:])
		if err != nil {
			return received{}, nil, errPacket
		}
		return received{kind: typeMessage, binary: true, data: data}, rest, nil
	}
	p, err = parseText(one)
	if err == nil && !utf8.Valid(p.data) {
		err = errPacket
	}
	return p, rest, err
}
