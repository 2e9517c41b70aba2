// Package client calls a Hearth server from Go. Every route has a typed method, every
// list an iterator, and the event stream resumes after a lost connection.
//
// Calls that are safe to repeat are retried a few times when the server is busy, stopping
// or out of reach. Calls that create something are safe too: they carry an
// Idempotency-Key, made here unless the caller gives one, and the server gives the second
// of two identical calls the answer it gave the first. A refusal is returned as *Error.
//
//	c, err := client.New(client.Config{BaseURL: "http://localhost:3000", Key: key})
//	twin, err := c.Entities.Create(ctx, client.EntityDraft{
//		Type: "Device", Protocol: "did:ixo:protocol/template", Properties: client.Object{"metricOne": "value"},
//	})
//
// The package imports nothing from the server.
package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config says which server to call and how. BaseURL is required; the zero value
// of everything else is the sensible default.
type Config struct {
	BaseURL   string        // such as https://hearth.example.org; a path in it is kept
	Key       string        // API key; none calls public routes only
	HTTP      *http.Client  // by default one that follows no redirects
	UserAgent string        // "hearth-go"
	Timeout   time.Duration // of one attempt, streams and files aside; 30 s
	Retry     Retry
}

// Retry bounds how calls are retried.
type Retry struct {
	Attempts int           // in all; 4. 1 repeats nothing
	Min      time.Duration // wait before the second attempt; 200 ms. It doubles from there
	Max      time.Duration // longest wait of our own; 5 s. A Retry-After of up to a minute wins
}

// Client calls one server with one key. It is safe for many goroutines.
type Client struct {
	Keys            Keys
	Workspaces      Workspaces
	Events          Events
	Webhooks        Webhooks
	Operations      Operations
	Jobs            Jobs
	Protocols       Protocols
	Entities        Entities
	Graph           Graph
	Groups          Groups
	Households      Households
	Devices         Devices
	Imports         Imports
	ResponseImports ResponseImports
	Exports         Exports
	Migrations      Migrations
	Erasures        Erasures
	Claims          Claims
	Collections     Collections
	KitchenTests    KitchenTests
	Vouchers        Vouchers
	DIDs            DIDs
	Templates       Templates
	Surveys         Surveys
	Proposals       Proposals
	Feeds           Feeds
	Responses       Responses
	Attachments     Attachments
	Verifications   Verifications
	Quality         Quality
	Sampling        Sampling
	Credentials     Credentials
	Reports         Reports
	Statistics      Statistics
	Emissions       Emissions
	Oracle          Oracle
	Demo            DemoProgramme
	Line            Line

	base     *url.URL
	cfg      Config
	position position
}

// New makes a client. It does not call the server.
func New(cfg Config) (*Client, error) {
	base, err := url.Parse(strings.TrimSuffix(cfg.BaseURL, "/"))
	if err != nil {
		return nil, fmt.Errorf("read BaseURL: %w", err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("read BaseURL: it must be an address such as https://hearth.example.org")
	}
	if strings.ContainsFunc(cfg.Key, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, errors.New("read Key: no header can carry it")
	}
	c := &Client{base: base, cfg: cfg.withDefaults()}
	c.Keys, c.Workspaces, c.Events, c.Webhooks, c.Jobs = Keys{c}, Workspaces{c}, Events{c}, Webhooks{c}, Jobs{c}
	c.Operations, c.KitchenTests, c.Claims, c.Collections, c.Vouchers = Operations{c}, KitchenTests{c}, Claims{c}, Collections{c}, Vouchers{c}
	c.Protocols, c.Entities, c.Graph, c.Groups = Protocols{c}, Entities{c}, Graph{c}, Groups{c}
	c.Households, c.Devices, c.Erasures, c.DIDs = Households{c}, Devices{c}, Erasures{c}, DIDs{c}
	c.Imports, c.Exports, c.Migrations, c.ResponseImports = Imports{c}, Exports{c}, Migrations{c}, ResponseImports{c}
	c.Proposals = Proposals{c}
	c.Templates, c.Surveys, c.Feeds, c.Responses, c.Attachments = Templates{c}, Surveys{c}, Feeds{c}, Responses{c}, Attachments{c}
	c.Verifications, c.Quality, c.Statistics, c.Oracle = Verifications{c}, Quality{c}, Statistics{c}, Oracle{c}
	c.Demo, c.Line, c.Sampling, c.Emissions = DemoProgramme{c}, Line{c}, Sampling{c}, Emissions{c}
	c.Credentials = Credentials{c}
	c.Reports = Reports{c}
	return c, nil
}

func (cfg Config) withDefaults() Config {
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "hearth-go"
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 30 * time.Second
	}
	if cfg.Retry.Attempts <= 0 {
		cfg.Retry.Attempts = 4
	}
	if cfg.Retry.Min <= 0 {
		cfg.Retry.Min = 200 * time.Millisecond
	}
	if cfg.Retry.Max <= 0 {
		cfg.Retry.Max = 5 * time.Second
	}
	return cfg
}
