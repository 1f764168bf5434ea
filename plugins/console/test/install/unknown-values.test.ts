/** Tests values of a newer server that these pages do not know. */
import t from 'tap'
import { knownValueOr } from '../../web/app/answer.ts'
import { formOf, groupsOf, hintOf, initialValues } from '../../web/install/install-form.ts'
import { progressOf } from '../../web/install/steps/step-progress.ts'
import { type ExecutionRecord, type FormSchema, outcomeOf, outcomes, type Step } from '../../web/install/wire.ts'

t.test('C-034 an unknown enum value becomes the fallback', async (t) => {
  t.equal(knownValueOr(['on', 'off'], 'off', 'on'), 'off')
  t.equal(knownValueOr(['on', 'off'], 'dimmed', 'on'), 'on')
  for (const outcome of outcomes) t.equal(outcomeOf(outcome), outcome)
  t.equal(outcomeOf('deferred'), 'warning', "worth a look, and in nobody's way")
})

t.test('C-034 step states: a step with an unknown final state is complete, with a warning', async (t) => {
  const steps = ['one', 'two', 'three'].map((code, index) => ({
    sequence: index + 1,
    code,
    name: code,
    description: '',
    status: 'halfway',
    message: '',
    required: true,
    retryable: true,
  }))
  const record = { id: 1, sessionId: 's', stepCode: 'one', status: 'deferred', message: 'Later.' }
  const records = [{ ...record, occurredAt: '2026-01-01T00:00:00.000Z' }]
  const progress = progressOf(steps as Step[], records as ExecutionRecord[], 'running')
  t.same(
    progress.map(({ state }) => state),
    ['warning', 'running', 'waiting'],
  )
})

t.test(
  'C-034 database types and kinds of fields: unknown kinds are text fields whose values are sent unchanged',
  async (t) => {
    const field = { label: '', description: '', required: true, candidates: [], hints: { input: 'slider' } }
    const schema = {
      groups: [
        {
          code: 'database',
          label: 'Database',
          description: '',
          fields: [
            {
              ...field,
              name: 'type',
              type: 'string',
              hints: { input: 'select' },
              candidates: [{ value: 'h2', label: 'Embedded' }],
            },
            { ...field, name: 'level', type: 'decimal' },
          ],
        },
      ],
    }
    const groups = groupsOf(schema as unknown as FormSchema)
    const values = initialValues(
      groups,
      { database: { type: 'quantum', level: '1.5' } },
      { url: '', language: 'en', timeZone: 'UTC' },
    )
    t.same(formOf(groups, values), { database: { type: 'quantum', level: '1.5' } })
    for (const one of groups[0]?.fields ?? []) t.equal(hintOf(one, values), undefined)
  },
)
