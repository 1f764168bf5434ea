import { TextInput } from '@mantine/core'
import { useEffect, useMemo, useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { FailureNotice } from '../../../app/notice.tsx'
import { CallFailure } from '../../api/call.ts'
import { useApi } from '../../api/context.tsx'
import type { LivePreview as Declared, Field, PreviewVariable } from '../../api/page-types.ts'
import { type Row, valueAt, valuesFromRow } from '../../api/row-values.ts'
import { Cell } from '../cell.tsx'
import { sentOf, type Typed } from './field-values.ts'
import { findFieldByPath, nested } from './form-state.ts'
import { LatestRequest } from './latest-ask.ts'
import classes from './live-preview.module.css'
import { samplesOf } from './sample-values.ts'

/** Milliseconds without input before a preview is requested. */
const pauseMs = 400

interface LivePreviewProps {
  readonly preview: Declared
  /** Fields of the form. */
  readonly fields: readonly Field[]
  readonly row: Row
  readonly values: Readonly<Record<string, Typed>>
  /** Called with the errors of fields, by name. */
  onProblems(faults: Readonly<Record<string, string>>): void
}

interface State {
  /** The last successful preview. */
  readonly answer?: Row
  readonly isAsking: boolean
  /** Error that belongs to no field. */
  readonly failure?: CallFailure | undefined
  /** True if the preview belongs to earlier input. */
  readonly isStale: boolean
}

/** Shows a live preview of the form content, with sample values for the variables. */
export default function LivePreview({ preview, fields, row, values, onProblems }: LivePreviewProps) {
  const { translate } = useLanguage()
  const api = useApi()
  const [samples, setSamples] = useState<Readonly<Record<string, string>>>({})
  const [state, setState] = useState<State>({ isAsking: true, isStale: false })
  const ask = useMemo(
    () =>
      new LatestRequest<string>(async (body, signal) => {
        setState((last) => ({ ...last, isAsking: true }))
        try {
          const params = valuesFromRow(preview.params, row)
          const answer = await api.call<Row>(preview, { params, body: JSON.parse(body), signal })
          onProblems({})
          setState({ answer, isAsking: false, isStale: false })
        } catch (error) {
          if (signal.aborted) return
          if (!(error instanceof CallFailure)) throw error
          const known = error.faults.flatMap(({ field, message }) => {
            const name = findFieldByPath(preview.takes, field)
            return name === undefined ? [] : [[name, message] as const]
          })
          const isOfFields = known.length > 0 && known.length === error.faults.length
          onProblems(Object.fromEntries(known))
          const failure = isOfFields ? undefined : error
          setState((last) => ({ ...last, isAsking: false, isStale: true, failure }))
        }
      }),
    [api, preview, row, onProblems],
  )
  useEffect(() => () => ask.stop(), [ask])

  const expected = useMemo(() => {
    const taken = preview.takes.map((name) => [name, fields.find((field) => field.name === name)] as const)
    const sent = taken.flatMap(([name, field]) => (field === undefined ? [] : [[name, field] as const]))
    const own = Object.fromEntries(sent.map(([name, field]) => [name, sentOf(values[name], field)]))
    const tried = preview.samples === undefined ? {} : { [preview.samples.into]: samplesOf(samples) }
    return JSON.stringify(nested({ ...valuesFromRow(preview.body, row), ...own, ...tried }))
  }, [preview, fields, row, values, samples])
  const isFirst = state.answer === undefined && state.failure === undefined
  // biome-ignore lint/correctness/useExhaustiveDependencies: the first response must not cause another request
  useEffect(() => {
    ask.want(expected, isFirst ? 0 : pauseMs)
  }, [ask, expected])

  const { answer, failure } = state
  const uses = (
    preview.samples === undefined ? [] : (valueAt(answer, preview.samples.of) ?? [])
  ) as readonly PreviewVariable[]
  const missing = uses.filter(({ needed, given }) => needed && !given).length
  const titles = new Map(fields.map(({ name, title }) => [name, title]))
  return (
    <section
      className={classes.pane}
      aria-label={translate('admin.live.title')}
      aria-busy={state.isAsking}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll this element
      tabIndex={0}
    >
      <div className={classes.head}>
        <h2>{translate('admin.live.title')}</h2>
        <p role="status" className={classes.state} data-tone={missing > 0 || state.isStale ? 'warn' : undefined}>
          {state.isStale
            ? translate('admin.live.stale')
            : missing > 0
              ? translate('admin.live.missing', { count: missing })
              : ''}
        </p>
      </div>
      {failure !== undefined && (
        <FailureNotice message={failure.message} traceId={failure.traceId} onRetry={() => ask.want(expected, 0)} />
      )}
      {answer !== undefined && (
        <dl className={classes.parts}>
          {preview.columns.map((column) => (
            <div key={column.field}>
              <dt>{column.title}</dt>
              <dd>
                <Cell column={column} row={answer} isWide />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {uses.length > 0 && (
        <fieldset className={classes.samples}>
          <legend>{translate('admin.live.samples')}</legend>
          <p className={classes.lead}>{translate('admin.live.samples-lead')}</p>
          <div className={classes.values}>
            {uses.map(({ name, usedIn, needed, given }) => (
              <TextInput
                key={name}
                label={<code>{name}</code>}
                description={
                  <span className={classes.use}>
                    {!given && (
                      <span className={classes.mark} data-tone={needed ? 'warn' : 'quiet'}>
                        {translate(needed ? 'admin.live.no-value' : 'admin.live.optional')}
                      </span>
                    )}{' '}
                    {translate('admin.live.used-in', {
                      fields: usedIn.map((field) => titles.get(field) ?? field).join(', '),
                    })}
                  </span>
                }
                value={samples[name] ?? ''}
                onChange={({ currentTarget: { value } }) => setSamples((last) => ({ ...last, [name]: value }))}
                // Without this handler, Enter would submit the form around these fields.
                onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
                size="xs"
                autoComplete="off"
                autoCapitalize="none"
                spellCheck={false}
              />
            ))}
          </div>
        </fieldset>
      )}
    </section>
  )
}
