"""The shapes that services give their secrets: one line for each kind. Whoever meets a new one adds a line."""

from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of secret: the words that are in each of them, and what it looks like.

    Words are searched for first, for that is fifty times as fast as a pattern; case matters in both. A pattern begins
    with the word, which must begin a word of the text; or, where it begins with `^`, is that of the whole word around.
    What is hidden is the group, or all of it where there is none.
    """

    name: str
    words: str
    pattern: str


SHORTEST = 16
"""No secret that is known by its shape has fewer characters in a row of `CHARACTERS`."""
CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+=~%:"

SHAPES = (
    Kind("holter key", "hk_", r"hk_[0-9a-f]{8}_[\w-]{30,}"),
    # Clouds
    Kind("AWS key", "AKIA ASIA ABIA ACCA", r"A[KSBC][IC]A[0-9A-Z]{16}(?![0-9A-Za-z])"),
    Kind("AWS session", "IQoJ FwoG", r"(?:IQoJ|FwoG)[\w+/=]{80,}"),
    Kind("Google key", "AIza", r"AIza[\w-]{35}"),
    Kind("Google token", "ya29.", r"ya29\.[\w-]{20,}"),
    Kind("Google client", "GOCSPX-", r"GOCSPX-[\w-]{24,}"),
    Kind("Azure client", "7Q~ 8Q~", r"^[\w~.-]{3}[78]Q~[\w~.-]{31,34}$"),
    Kind("Azure DevOps token", "AZDO", r"^[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}$"),
    Kind("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    Kind("Heroku key", "HRKU-", r"HRKU-[\w-]{36,}"),
    Kind("Netlify token", "nfp_", r"nfp_[A-Za-z0-9]{36,}"),
    Kind("Fly token", "fo1_ fm1_ fm2_", r"f(?:o1|m[12])_[\w+/=-]{40,}"),
    Kind("RunPod key", "rpa_", r"rpa_[0-9A-Za-z]{40,}"),
    # Models and data
    Kind("Hugging Face token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{20,}"),
    Kind("model provider key", "sk-", r"sk-(?:[A-Za-z0-9]{20,}|(?=[\w-]*\d)[\w-]{20,})"),
    Kind("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    Kind("Replicate token", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    Kind("Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{32,}"),
    Kind("xAI key", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    Kind("Together key", "tgp_v1_", r"tgp_v1_[\w-]{30,}"),
    Kind("NVIDIA key", "nvapi-", r"nvapi-[\w-]{40,}"),
    Kind("Tavily key", "tvly-", r"tvly-[\w-]{24,}"),
    Kind("Jina key", "jina_", r"jina_[A-Za-z0-9]{40,}"),
    Kind("Pinecone key", "pcsk_", r"pcsk_\w{40,}"),
    Kind("LangSmith key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}\w*"),
    Kind("W&B key", "wandb_v1_", r"wandb_v1_\w{20,}"),
    Kind("Neptune token", "eyJhcGlfYWRkcmVzcyI6", r"eyJhcGlf[\w+/=]{40,}"),
    Kind("Kaggle token", "KGAT_", r"KGAT_[0-9a-f]{32}"),
    Kind("Prefect key", "pnu_ pnb_", r"pn[ub]_[A-Za-z0-9]{36}"),
    Kind("Databricks token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?(?![0-9A-Za-z])"),
    Kind("Supabase key", "sbp_ sb_secret_", r"sb(?:p_[0-9a-f]{40}|_secret_[\w-]{20,})"),
    Kind("PlanetScale token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.=-]{32,}"),
    Kind("Airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    # Code and packages
    Kind("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[oprsu]_[A-Za-z0-9]{20,}"),
    Kind("GitHub token", "github_pat_", r"github_pat_\w{20,}"),
    Kind(
        "GitLab token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct-",
        r"gl[a-z]{2,6}-[\w.-]{20,}",
    ),
    Kind("Atlassian token", "ATATT3 ATCTT3 ATBB", r"AT(?:[AC]TT3|BB)[\w=-]{24,}"),
    Kind("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    Kind("PyPI token", "pypi-", r"pypi-[\w-]{50,}"),
    Kind("RubyGems key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    Kind("crates.io token", "cio", r"cio[A-Za-z0-9]{32}(?![0-9A-Za-z])"),
    Kind("Docker token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[\w-]{24,}"),
    Kind("Artifactory key", "AKCp", r"AKCp[A-Za-z0-9]{60,}"),
    Kind("SonarQube token", "squ_ sqp_ sqa_", r"sq[apu]_[0-9a-f]{40}"),
    Kind("Buildkite token", "bkua_", r"bkua_[0-9a-f]{40}"),
    Kind("CircleCI token", "CCIPAT_", r"CCIPAT_\w{40,}"),
    Kind("Postman key", "PMAK-", r"PMAK-[0-9a-f-]{40,}"),
    # Operation
    Kind("Terraform token", ".atlasv1.", r"^[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}$"),
    Kind("Vault token", "hvs. hvb. hvr.", r"hv[brs]\.[\w-]{24,}"),
    Kind("Pulumi token", "pul-", r"pul-[0-9a-f]{40}"),
    Kind("Doppler token", "dp.pt. dp.st. dp.sa. dp.ct. dp.scim.", r"dp\.(?:pt|st|sa|ct|scim)\.[\w.-]{40,}"),
    Kind("1Password token", "ops_eyJ", r"ops_eyJ[\w+/=-]{100,}"),
    Kind("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    Kind("Grafana token", "glsa_ glc_", r"gl(?:sa|c)_[\w+/=]{32,}"),
    Kind("New Relic key", "NRAK- NRII- NRJS-", r"NR(?:AK|II|JS)-[\w-]{19,}"),
    Kind("Sentry token", "sntryu_ sntrys_", r"sntry[su]_[\w+/=-]{40,}"),
    Kind("Dynatrace token", "dt0c01. dt0s01.", r"dt0[a-z]01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    # Messages, shops and the rest
    Kind(
        "Slack token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxc- xoxd- xoxe.", r"xox[abcdeoprs][.-][\w.%+-]{10,}"
    ),
    Kind("Slack token", "xapp-", r"xapp-\d-[\w-]{20,}"),
    Kind("Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/]{20,})"),
    Kind("Discord webhook", "api/webhooks/", r"api/webhooks/\d+/([\w-]{40,})"),
    Kind("Telegram token", ":AA", r"^(?:.*/bot)?(\d{8,10}:AA[\w-]{32,33})(?:/.*)?$"),
    Kind("Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", r"(?:[sr]k_(?:live|test)|whsec)_[\w+/=]{16,}"),
    Kind("SendGrid key", "SG.", r"SG\.[\w-]{16,32}\.[\w-]{16,64}"),
    Kind("Mailgun key", "key-", r"key-[0-9a-f]{32}(?![0-9A-Za-z])"),
    Kind("Mailchimp key", "-us", r"^[0-9a-f]{32}-us\d{1,2}$"),
    Kind("Twilio key", "SK", r"SK[0-9a-f]{32}(?![0-9A-Za-z])"),
    Kind("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    Kind("Square token", "sq0atp- sq0csp-", r"sq0(?:atp|csp)-[\w-]{22,}"),
    Kind("Linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{32,}"),
    Kind("Notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    Kind("Figma token", "figd_", r"figd_[\w-]{30,}"),
    Kind("Dropbox token", "sl.", r"sl\.(?:u\.)?[\w-]{100,}"),
    Kind("HubSpot token", "pat-", r"pat-(?:na|eu)\d-[0-9a-f-]{36}"),
    Kind("web token", "eyJ", r"eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"),
)
