import { manualClock } from '@plinth/dev/testing'
import type { DeliveryOutcome } from '@plinth/kernel'
import fc from 'fast-check'
import t from 'tap'
import { ProviderChoice, type ProviderStrategy, providerStrategies } from '../src/provider-choice.ts'

const failure = { errorCode: 'x', errorMessage: 'said no' }
const outcomes: Readonly<Record<DeliveryOutcome['outcome'], DeliveryOutcome>> = {
  accepted: { outcome: 'accepted' },
  rejected: { outcome: 'rejected', ...failure },
  deferred: { outcome: 'deferred', ...failure },
  unknown: { outcome: 'unknown', ...failure },
}
const never = new AbortController().signal

/** Returns a function that chooses between providers. The table of the test defines the outcome of each provider. */
function choose(clock = manualClock()) {
  const choice = new ProviderChoice({ clock, restMs: () => 60_000 })
  const answers = new Map<string, DeliveryOutcome>()
  const run = async (providers: readonly string[], strategy: ProviderStrategy, signal = never) => {
    const asked: string[] = []
    const outcome = await choice.run(providers, strategy, signal, async (provider) => {
      asked.push(provider)
      return answers.get(provider) ?? outcomes.accepted
    })
    return { asked, outcome }
  }
  return { choice, answers, run, clock }
}

t.test(
  'providers are tried one after another until one delivers; if the message may have arrived, no other is tried',
  async (t) => {
    const providers = fc.uniqueArray(fc.stringMatching(/^[a-e]$/), { minLength: 1 })
    const response = fc.constantFrom(...Object.values(outcomes))
    await fc.assert(
      fc.asyncProperty(
        providers,
        fc.array(response, { minLength: 5, maxLength: 5 }),
        fc.constantFrom(...providerStrategies),
        async (names, given, strategy) => {
          const { answers, run } = choose()
          for (const [index, name] of names.entries()) answers.set(name, given[index] ?? outcomes.accepted)
          const { asked, outcome } = await run(names, strategy)
          const said = asked.map((name) => answers.get(name)?.outcome)
          t.same(new Set(asked).size, asked.length, 'each at most once')
          t.ok(said.slice(0, -1).every((each) => each === 'rejected' || each === 'deferred'))
          const ended = ['accepted', 'unknown'].includes(String(said.at(-1)))
          t.equal(ended || asked.length === (strategy === 'single' ? 1 : names.length), true)
          const expected = ended ? said.at(-1) : said.includes('deferred') ? 'deferred' : 'rejected'
          t.equal(outcome.outcome, expected)
        },
      ),
    )
  },
)

t.test(
  'the pause of a provider ends by its own time or by the time of the provider, and never stops the channel',
  async (t) => {
    const { answers, run, choice, clock } = choose()
    answers.set('a', outcomes.deferred)
    t.same((await run(['a', 'b'], 'failover')).asked, ['a', 'b'])
    t.same((await run(['a', 'b'], 'failover')).asked, ['b'])
    answers.set('b', { outcome: 'deferred', ...failure, retryAfterMs: 5000 })
    const all = await run(['a', 'b'], 'failover')
    t.same(all.asked, ['b', 'a'], 'both rest: both are asked')
    t.hasStrict(all.outcome, { outcome: 'deferred', errorMessage: 'b: said no; a: said no' })
    t.notOk('retryAfterMs' in all.outcome, 'one of them may be asked at once')
    await clock.advance(5001)
    t.same(choice.order(['a', 'b'], 'failover'), ['b', 'a'], 'the shorter rest is over')
    await clock.advance(60_000)
    t.same(choice.order(['a', 'b'], 'failover'), ['a', 'b'], 'the first is the first again')
    answers.clear()
    t.same((await run(['a', 'b'], 'failover')).asked, ['a'])
  },
)

t.test('a cancelled send uses no second provider', async (t) => {
  const { answers, run } = choose()
  answers.set('a', outcomes.deferred)
  const { asked, outcome } = await run(['a', 'b'], 'failover', AbortSignal.abort())
  t.same([asked, outcome.outcome], [['a'], 'deferred'])
})
