import { webhookProviderCases } from '@plinth/dev/conformance/webhook'
import t from 'tap'
import { plainTextRows, textByKind } from './fixtures/plain-text-rows.ts'
import { samples } from './fixtures/samples.ts'
import { undoBackslashes, undoEntities } from './fixtures/service-links.ts'

/** Services that undo escapes before they look for addresses, by provider and message type. */
const shown: Readonly<Record<string, Readonly<Record<string, (sent: string) => string>>>> = {
  feishu: { markdown: undoEntities },
  telegram: { markdown: undoBackslashes, 'markdown-v2': undoBackslashes },
}

/** Returns the texts of the table `plainTextRows` that the service would interpret as markup, by message type. */
function markupOf(code: string): Record<string, readonly string[]> {
  const types = Object.entries(plainTextRows).flatMap(([name, row]) => {
    const [provider, type = ''] = name.split(' ')
    const changed = (['mention', 'link', 'markup'] as const).flatMap((kind) => {
      const sent = row[kind]?.split(/\s/) ?? []
      return textByKind[kind].split(/\s/).filter((word, at) => word.length > 1 && at < sent.length && sent[at] !== word)
    })
    return provider === code ? [[type, changed] as const] : []
  })
  return Object.fromEntries(types)
}

for (const [code, options] of Object.entries(samples)) {
  t.test(`N-050 N-051 N-053 N-054 N-055 N-056 N-057 ${code} obeys the contract of providers`, async (t) => {
    for (const { name, run } of webhookProviderCases({ ...options, markup: markupOf(code), shown: shown[code] ?? {} }))
      t.test(name, run)
  })
}
