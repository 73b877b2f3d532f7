"""The shapes that services give their secrets: one line for each kind. Whoever meets a new one adds a line."""

Kind = tuple[str, str, str]
"""The name of a kind, the words of which one is in each of its secrets, and what they look like.

Words are searched for first, for that is fifty times as fast as a pattern; case matters in both. A pattern begins with
the word, which must begin a word of the text; or, where it begins with `^`, is that of the whole word around. What is
hidden is the group, or all of it where there is none.
"""

SHORTEST = 16
"""No secret that is known by its shape has fewer characters in a row of `CHARACTERS`."""
CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+=~%:"

# Constants all over: to load them takes no time.
SHAPES: tuple[Kind, ...] = (
    ("holter key", "hk_", r"hk_[0-9a-f]{8}_[\w-]{30,}"),
    # Clouds
    ("AWS key", "AKIA ASIA ABIA ACCA", r"A[KSBC][IC]A[0-9A-Z]{16}(?![0-9A-Za-z])"),
    ("AWS session", "IQoJ FwoG", r"(?:IQoJ|FwoG)[\w+/=]{80,}"),
    ("Google key", "AIza", r"AIza[\w-]{35}"),
    ("Google token", "ya29.", r"ya29\.[\w-]{20,}"),
    ("Google client", "GOCSPX-", r"GOCSPX-[\w-]{24,}"),
    ("Azure client", "7Q~ 8Q~", r"^[\w~.-]{3}[78]Q~[\w~.-]{31,34}$"),
    ("Azure DevOps token", "AZDO", r"^[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}$"),
    ("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    ("Heroku key", "HRKU-", r"HRKU-[\w-]{36,}"),
    ("Netlify token", "nfp_", r"nfp_[A-Za-z0-9]{36,}"),
    ("Fly token", "fo1_ fm1_ fm2_", r"f(?:o1|m[12])_[\w+/=-]{40,}"),
    ("RunPod key", "rpa_", r"rpa_[0-9A-Za-z]{40,}"),
    # Models and data
    ("Hugging Face token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{20,}"),
    ("model provider key", "sk-", r"sk-(?:[A-Za-z0-9]{20,}|(?=[\w-]*\d)[\w-]{20,})"),
    ("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    ("Replicate token", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    ("Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{32,}"),
    ("xAI key", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    ("Together key", "tgp_v1_", r"tgp_v1_[\w-]{30,}"),
    ("NVIDIA key", "nvapi-", r"nvapi-[\w-]{40,}"),
    ("Tavily key", "tvly-", r"tvly-[\w-]{24,}"),
    ("Jina key", "jina_", r"jina_[A-Za-z0-9]{40,}"),
    ("Pinecone key", "pcsk_", r"pcsk_\w{40,}"),
    ("LangSmith key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}\w*"),
    ("W&B key", "wandb_v1_", r"wandb_v1_\w{20,}"),
    ("Neptune token", "eyJhcGlfYWRkcmVzcyI6", r"eyJhcGlf[\w+/=]{40,}"),
    ("Kaggle token", "KGAT_", r"KGAT_[0-9a-f]{32}"),
    ("Prefect key", "pnu_ pnb_", r"pn[ub]_[A-Za-z0-9]{36}"),
    ("Databricks token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?(?![0-9A-Za-z])"),
    ("Supabase key", "sbp_ sb_secret_", r"sb(?:p_[0-9a-f]{40}|_secret_[\w-]{20,})"),
    ("PlanetScale token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.=-]{32,}"),
    ("Airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    # Code and packages
    ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[oprsu]_[A-Za-z0-9]{20,}"),
    ("GitHub token", "github_pat_", r"github_pat_\w{20,}"),
    (
        "GitLab token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct-",
        r"gl[a-z]{2,6}-[\w.-]{20,}",
    ),
    ("Atlassian token", "ATATT3 ATCTT3 ATBB", r"AT(?:[AC]TT3|BB)[\w=-]{24,}"),
    ("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    ("PyPI token", "pypi-", r"pypi-[\w-]{50,}"),
    ("RubyGems key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    ("crates.io token", "cio", r"cio[A-Za-z0-9]{32}(?![0-9A-Za-z])"),
    ("Docker token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[\w-]{24,}"),
    ("Artifactory key", "AKCp", r"AKCp[A-Za-z0-9]{60,}"),
    ("SonarQube token", "squ_ sqp_ sqa_", r"sq[apu]_[0-9a-f]{40}"),
    ("Buildkite token", "bkua_", r"bkua_[0-9a-f]{40}"),
    ("CircleCI token", "CCIPAT_", r"CCIPAT_\w{40,}"),
    ("Postman key", "PMAK-", r"PMAK-[0-9a-f-]{40,}"),
    # Operation
    ("Terraform token", ".atlasv1.", r"^[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}$"),
    ("Vault token", "hvs. hvb. hvr.", r"hv[brs]\.[\w-]{24,}"),
    ("Pulumi token", "pul-", r"pul-[0-9a-f]{40}"),
    ("Doppler token", "dp.pt. dp.st. dp.sa. dp.ct. dp.scim.", r"dp\.(?:pt|st|sa|ct|scim)\.[\w.-]{40,}"),
    ("1Password token", "ops_eyJ", r"ops_eyJ[\w+/=-]{100,}"),
    ("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    ("Grafana token", "glsa_ glc_", r"gl(?:sa|c)_[\w+/=]{32,}"),
    ("New Relic key", "NRAK- NRII- NRJS-", r"NR(?:AK|II|JS)-[\w-]{19,}"),
    ("Sentry token", "sntryu_ sntrys_", r"sntry[su]_[\w+/=-]{40,}"),
    ("Dynatrace token", "dt0c01. dt0s01.", r"dt0[a-z]01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    # Messages, shops and the rest
    ("Slack token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxc- xoxd- xoxe.", r"xox[abcdeoprs][.-][\w.%+-]{10,}"),
    ("Slack token", "xapp-", r"xapp-\d-[\w-]{20,}"),
    ("Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/]{20,})"),
    ("Discord webhook", "api/webhooks/", r"api/webhooks/\d+/([\w-]{40,})"),
    ("Telegram token", ":AA", r"^(?:.*/bot)?(\d{8,10}:AA[\w-]{32,33})(?:/.*)?$"),
    ("Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"(?:[sr]k_(?:live|test)|whsec)_[\w+/=]{16,}"),
    ("SendGrid key", "SG.", r"SG\.[\w-]{16,32}\.[\w-]{16,64}"),
    ("Mailgun key", "key-", r"key-[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("Mailchimp key", "-us", r"^[0-9a-f]{32}-us\d{1,2}$"),
    ("Twilio key", "SK", r"SK[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("Square token", "sq0atp- sq0csp-", r"sq0(?:atp|csp)-[\w-]{22,}"),
    ("Linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{32,}"),
    ("Notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    ("Figma token", "figd_", r"figd_[\w-]{30,}"),
    ("Dropbox token", "sl.", r"sl\.(?:u\.)?[\w-]{100,}"),
    ("HubSpot token", "pat-", r"pat-(?:na|eu)\d-[0-9a-f-]{36}"),
    ("web token", "eyJ", r"eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"),
)
