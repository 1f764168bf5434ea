/** Tests the settlement plan: the outcome of every scenario, and the effect of removing each check. */
import { assertMembers } from '@plinth/dev/testing'
import t from 'tap'
import { chainFactChecks } from '../src/planning/checked-facts.ts'
import { planSettlement, preChecks } from '../src/planning/plan.ts'
import { blockingReasons, candidateStates } from '../src/planning/reasons.ts'
import {
  abiWord,
  chain,
  facts,
  hash,
  order,
  otherLog,
  readyCase,
  receipt,
  stranger,
  transferLog,
} from './fixtures/ready-case.ts'
import { scenarios } from './fixtures/scenarios.ts'

const outcomeOf = ({ state, reasons, causes }: ReturnType<typeof planSettlement>) => ({ state, reasons, causes })

t.test(
  'S-007 S-008 S-009 S-010 S-012 S-013 S-015 S-077 S-078 S-087 S-088 S-089 S-090 S-091 S-092 S-094 each candidate has its state and all its reasons',
  async (t) => {
    t.equal(new Set(scenarios.map(({ name }) => name)).size, scenarios.length)
    for (const { name, input, state, reasons = [], causes = [] } of scenarios) {
      t.same(outcomeOf(planSettlement(input)), { state, reasons, causes }, name)
    }
  },
)

t.test(
  'S-006 the states are exactly those of the document, and a plan never returns settling or settled',
  async (t) => {
    t.same(
      [...candidateStates],
      ['pending', 'confirming', 'review_required', 'ready', 'settling', 'settled', 'blocked', 'failed'],
    )
    const seen = new Set(scenarios.map(({ input }) => planSettlement(input).state))
    t.same(
      candidateStates.filter((state) => !seen.has(state)),
      ['settling', 'settled'],
    )
  },
)

t.test('S-076 the plan contains every reason that can be found before execution', async (t) => {
  t.equal(blockingReasons.length, 21)
  const planned = new Set(preChecks.map(({ reason }) => reason))
  t.same(
    blockingReasons.filter((reason) => !planned.has(reason)),
    ['order-not-settleable', 'order-update-conflict', 'review-fingerprint-mismatched', 'applier-not-available'],
    'the executor alone finds these',
  )
})

t.test('S-077 if any single check is omitted, a scenario fails', async (t) => {
  const differs = (checks: Parameters<typeof planSettlement>[1]) =>
    scenarios.some(({ input, state, reasons = [], causes = [] }) => {
      const found = outcomeOf(planSettlement(input, checks))
      return JSON.stringify(found) !== JSON.stringify({ state, reasons, causes })
    })
  t.notOk(differs({ pre: preChecks, facts: chainFactChecks }), 'with all of them, none does')
  for (const [index, { reason }] of preChecks.entries()) {
    t.ok(differs({ pre: preChecks.toSpliced(index, 1), facts: chainFactChecks }), `pre-check ${index}, ${reason}`)
  }
  for (const [index, { name }] of chainFactChecks.entries()) {
    t.ok(differs({ pre: preChecks, facts: chainFactChecks.toSpliced(index, 1) }), `check of facts: ${name}`)
  }
})

t.test('S-003 amounts are integers of any size', async (t) => {
  const amount = 10n ** 30n
  const paid = (value: bigint) =>
    planSettlement(
      readyCase({
        order: order({ amountRaw: String(amount) }),
        facts: facts({ receipt: receipt({ logs: [transferLog(1, { value })] }) }),
      }),
    )
  t.equal(paid(amount).state, 'ready')
  t.equal(paid(amount).transfer?.value, '1000000000000000000000000000000')
  for (const value of [amount - 1n, amount + 1n]) t.same(paid(value).reasons, ['amount-mismatch'])
  const largest = 2n ** 256n - 1n
  const whole = readyCase({
    order: order({ amountRaw: String(largest) }),
    facts: facts({ receipt: receipt({ logs: [{ ...transferLog(1), data: abiWord(largest) }] }) }),
  })
  t.equal(planSettlement(whole).state, 'ready')
})

t.test(
  'S-014 S-079 a node with fewer blocks returns the candidate to confirming, by the block number of the chain',
  async (t) => {
    const at = (head: number, requiredConfirmations: number) =>
      planSettlement(readyCase({ chain: chain({ requiredConfirmations }), facts: facts({ head }) }))
    t.equal(at(12, 3).state, 'ready')
    t.equal(at(11, 3).state, 'confirming')
    t.equal(at(12, 12).state, 'confirming', 'another chain asks for more')
    t.equal(at(21, 12).state, 'ready')
    t.match(at(12, 3), { confirmations: 3, requiredConfirmations: 3 })
    t.match(at(12, 12), { confirmations: 3, requiredConfirmations: 12 })
  },
)

t.test(
  'S-009 the nearest transfer is reported with all its mismatches; the event key is that of its log',
  async (t) => {
    const plan = planSettlement(
      readyCase({
        facts: facts({
          receipt: receipt({
            logs: [
              otherLog(3),
              transferLog(4, { token: stranger, to: stranger }),
              transferLog(7, { value: 999n }),
              transferLog(9, { value: 998n }),
            ],
          }),
        }),
      }),
    )
    assertMembers(t, plan, {
      state: 'blocked',
      reasons: ['amount-mismatch'],
      transfer: { logIndex: 7, logOrdinal: 2, value: '999', blockNumber: 10 },
      eventKey: `local:${hash}:7`,
      providerId: 'one',
      head: 12,
    })
  },
)
