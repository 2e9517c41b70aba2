package llm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// OfflineID is the name of the built-in model.
	OfflineID = "hearth-offline"
	// DefaultID means the server's first model, when none is named.
	DefaultID = "default"
)

// Entry is a model callers may choose, in the form of GET /models.
type Entry struct {
	ID        string  `json:"id"`
	Label     string  `json:"label"`
	Family    string  `json:"family"`
	Tier      string  `json:"tier"`
	CostLabel string  `json:"costLabel"`
	Badge     string  `json:"badge"`
	Blurb     string  `json:"blurb"`
	Vision    bool    `json:"vision"`
	Pricing   Pricing `json:"pricing"`
	IsDefault bool    `json:"isDefault"`
}

// Pricing is the price of a model. Both prices are 0 when unknown; the entry's
// CostLabel says so.
type Pricing struct {
	InputPerMillion  float64 `json:"inputPerMillion"`
	OutputPerMillion float64 `json:"outputPerMillion"`
	Currency         string  `json:"currency"`
	Unit             string  `json:"unit"`
}

// Catalogue lists the models callers may choose. It never changes.
type Catalogue struct {
	entries []Entry
	byID    map[string]bool
	first   string
	body    jsontext.Value
}

// NewCatalogue makes the catalogue of the models of one server by name, the
// default first; without names, that of the offline model.
func NewCatalogue(names ...string) (*Catalogue, error) {
	var entries []Entry
	for _, name := range names {
		if name != "" && !slices.ContainsFunc(entries, func(e Entry) bool { return e.ID == name }) {
			entries = append(entries, named(name))
		}
	}
	if len(entries) == 0 {
		entries = []Entry{offlineEntry()}
	}
	return CatalogueOf(entries...)
}

// CatalogueOf makes a catalogue of entries, the default first.
func CatalogueOf(entries ...Entry) (*Catalogue, error) {
	if len(entries) == 0 {
		entries = []Entry{offlineEntry()}
	}
	c := &Catalogue{entries: slices.Clone(entries), byID: map[string]bool{}, first: entries[0].ID}
	for i := range c.entries {
		c.entries[i].IsDefault = i == 0
		c.byID[c.entries[i].ID] = true
	}
	var err error
	c.body, err = json.Marshal(struct {
		Models  []Entry `json:"models"`
		Default string  `json:"default"`
	}{c.entries, c.first})
	if err != nil {
		return nil, fmt.Errorf("encode the catalogue of models: %w", err)
	}
	return c, nil
}

// Body is the answer of GET /models. Do not change it.
func (c *Catalogue) Body() jsontext.Value { return c.body }

// Default is the id of the default model.
func (c *Catalogue) Default() string { return c.first }

// Resolve returns the model to use for a caller's id: that model when it is
// listed, otherwise the default one, as in the original. So a caller cannot
// make us pay for a model that the operator has not chosen.
func (c *Catalogue) Resolve(id string) string {
	if c.byID[id] {
		return id
	}
	return c.first
}

func offlineEntry() Entry {
	return Entry{
		ID: OfflineID, Label: "Built-in offline model", Family: "hearth", Tier: "free", CostLabel: "Free", Badge: "offline",
		Blurb:   "Answers commands and a few plain questions without a network. It is not a language model.",
		Pricing: Pricing{Currency: "USD", Unit: "per_million_tokens"},
	}
}

// named makes an entry of a model's name, such as "qwen/qwen3-32b".
func named(id string) Entry {
	family, label, ok := strings.Cut(id, "/")
	if !ok {
		family, label = "model", id
	}
	return Entry{
		ID: id, Label: label, Family: family, Tier: "standard", CostLabel: "Not stated",
		Pricing: Pricing{Currency: "USD", Unit: "per_million_tokens"},
	}
}
