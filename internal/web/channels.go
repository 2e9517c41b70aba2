package web

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Channel carries messages other than requests and their answers: a stream of
// server-sent events, or a socket.
type Channel struct {
	Name, Address string // a parameter of the address stands in braces
	Title, About  string
	Sent          []Message // by this server
	Taken         []Message // from clients
}

// Message is one kind of message on a channel.
type Message struct {
	Name, About string
	Payload     any            // of the type that goes over the wire; nil: anything
	Schema      jsontext.Value // JSON Schema of the payload, instead of Payload
}

// members holds the members of an object in the document.
type members map[string]any

func ref(to string) members { return members{"$ref": to} }

var addressName = regexp.MustCompile(`\{(\w+)\}`)

// ChannelDocument describes channels as AsyncAPI 3. Schemas come from the types
// that are sent, so the document and the wire cannot differ.
func ChannelDocument(title, version string, channels ...Channel) ([]byte, error) {
	reg := newRegistry()
	described, operations, messages := members{}, members{}, members{}
	for _, c := range channels {
		names := members{}
		add := func(action, prefix string, list []Message) {
			var refs []members
			for _, m := range list {
				id := prefix + m.Name
				messages[c.Name+"."+id] = describeMessage(reg, m)
				names[id] = ref("#/components/messages/" + c.Name + "." + id)
				refs = append(refs, ref("#/channels/"+c.Name+"/messages/"+id))
			}
			if refs != nil {
				operations[c.Name+"."+action] = members{"action": action, "channel": ref("#/channels/" + c.Name), "messages": refs}
			}
		}
		add("send", "", c.Sent)
		add("receive", "client.", c.Taken)
		one := members{"address": c.Address, "title": c.Title, "description": c.About, "messages": names}
		parameters := members{}
		for _, found := range addressName.FindAllStringSubmatch(c.Address, -1) {
			parameters[found[1]] = members{}
		}
		if len(parameters) > 0 {
			one["parameters"] = parameters
		}
		described[c.Name] = one
	}
	return json.Marshal(members{
		"asyncapi": "3.0.0",
		"info": members{
			"title": title, "version": version, "license": members{"name": "Apache-2.0"},
			"description": "What this server sends and accepts on streams and sockets. \"send\" means sent by the server. Requests and their answers are in /docs-json.",
		},
		"defaultContentType": mediaJSON,
		"channels":           described, "operations": operations,
		"components": members{"messages": messages, "schemas": reg.Map()},
	}, json.Deterministic(true))
}

func describeMessage(reg huma.Registry, m Message) members {
	payload := any(members{})
	if m.Schema != nil {
		payload = m.Schema
	} else if m.Payload != nil {
		payload = reg.Schema(reflect.TypeOf(m.Payload), true, m.Name)
	}
	return members{"name": m.Name, "summary": m.About, "payload": payload}
}

// ChannelPage describes channels for people, as Markdown.
func ChannelPage(channels ...Channel) []byte {
	reg := newRegistry()
	var b strings.Builder
	b.WriteString("# Streams and sockets\n\nThe messages on streams and sockets, one line for each. Programs read the same as AsyncAPI 3: `/docs/events.json`.\n")
	for _, c := range channels {
		fmt.Fprintf(&b, "\n## %s\n\n`%s`\n\n%s\n", c.Title, c.Address, c.About)
		for _, side := range []struct {
			title string
			list  []Message
		}{{"This server sends", c.Sent}, {"Clients send", c.Taken}} {
			if len(side.list) == 0 {
				continue
			}
			fmt.Fprintf(&b, "\n### %s\n\n| Name | What it says | Members |\n|---|---|---|\n", side.title)
			for _, m := range side.list {
				fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.Name, m.About, memberList(reg, m))
			}
		}
	}
	return []byte(b.String())
}

// memberList names the members of a payload; those that need not be there with
// a question mark.
func memberList(reg huma.Registry, m Message) string {
	var s *huma.Schema
	switch {
	case m.Schema != nil:
		var given struct {
			Required   []string `json:"required"`
			Properties map[string]struct {
				Description string `json:"description"`
			} `json:"properties"`
		}
		if json.Unmarshal(m.Schema, &given) != nil {
			return "anything"
		}
		s = &huma.Schema{Required: given.Required, Properties: map[string]*huma.Schema{}}
		for name, p := range given.Properties {
			s.Properties[name] = &huma.Schema{Description: p.Description}
		}
	case m.Payload == nil:
		return "anything"
	default:
		s = reg.Schema(reflect.TypeOf(m.Payload), false, "")
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		text := "`" + name + "`"
		if !slices.Contains(s.Required, name) {
			text += "?"
		}
		if about := s.Properties[name].Description; about != "" {
			text += " (" + strings.TrimSuffix(about, ".") + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}
