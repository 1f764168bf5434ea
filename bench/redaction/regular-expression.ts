/**
 * An earlier search for secrets, for comparison. It uses one regular expression of all written forms of all secrets,
 * the longest first. Throws if a secret is too long for a regular expression.
 */
export function regularExpression(secrets: readonly string[]): (text: string) => string {
  const forms = [...new Set(secrets.flatMap(formsOf))].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(forms.map((form) => form.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|'), 'g')
  return (text) => text.replace(pattern, '******')
}

function formsOf(secret: string): string[] {
  const escaped = JSON.stringify(secret).slice(1, -1)
  const bytes = Buffer.from(secret)
  const within = [0, 1, 2].map((before) => {
    const digits = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    return digits.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
  })
  const inJsonText = JSON.stringify(escaped).slice(1, -1)
  return [secret, escaped, inJsonText, encodeURIComponent(secret), bytes.toString('base64'), ...within]
}
