package config

// provider is a model server people name instead of giving its address.
type provider struct {
	name    string
	env     string // of its key
	baseURL string
	key     Secret
}

func (m Model) providers() []provider {
	return []provider{
		{"openrouter", "OPEN_ROUTER_API_KEY", "https://openrouter.ai/api/v1", m.OpenRouterKey},
		{"nebius", "NEBIUS_API_KEY", "https://api.studio.nebius.com/v1", m.NebiusKey},
		{"openai", "OPENAI_API_KEY", "https://api.openai.com/v1", m.OpenAIKey},
	}
}

// choose finds the provider that was named, or the first whose key was given.
func (m Model) choose() (provider, bool) {
	for _, p := range m.providers() {
		if p.name == m.Provider || (m.Provider == "auto" && p.key != "") {
			return p, true
		}
	}
	return provider{}, false
}

// model refuses an incomplete model configuration.
func (k *checker) model() {
	m := k.c.Model
	if m.BaseURL != "" {
		return
	}
	p, ok := m.choose()
	switch {
	case ok && p.key == "" && m.APIKey == "":
		k.add("names a provider without a key: want "+p.env+" or LLM_API_KEY", "LLM_PROVIDER", p.env, "LLM_API_KEY", "LLM_BASE_URL")
	case !ok && m.APIKey != "":
		k.add("has no server: want LLM_BASE_URL or LLM_PROVIDER as well", "LLM_API_KEY", "LLM_BASE_URL", "LLM_PROVIDER")
	}
}

// resolveModel fills address and key from the chosen provider. A key is never
// sent to an address it was not given for.
func resolveModel(m *Model) {
	if m.BaseURL != "" {
		return
	}
	p, ok := m.choose()
	if !ok {
		return
	}
	m.BaseURL = p.baseURL
	if m.APIKey == "" {
		m.APIKey = p.key
	}
}
