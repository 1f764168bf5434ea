import { useSpeech } from '../../../app/app.tsx'
import { useFormats } from '../../pages/shown-value.ts'
import classes from './boot-timeline.module.css'
import type { BootStep, PluginFacts } from './plugin-facts.ts'

interface BootTimelineProps {
  readonly plugins: readonly PluginFacts[]
  readonly timeline: readonly BootStep[]
}

const endOf = ({ startedAtMs, durationMs }: BootStep) => startedAtMs + durationMs

/** When each plugin was set up and began to serve: a bar for each step, and the same numbers as text. */
export function BootTimeline({ plugins, timeline }: BootTimelineProps) {
  const { say } = useSpeech()
  const formats = useFormats()
  const wholeMs = Math.max(1, ...timeline.map(endOf))
  const stepsOf = Map.groupBy(timeline, ({ plugin }) => plugin)
  const took = (id: string, phase: string) =>
    (stepsOf.get(id) ?? []).filter((step) => step.phase === phase).reduce((sum, { durationMs }) => sum + durationMs, 0)
  const slowest = Math.max(...plugins.map(({ id }) => took(id, 'setup') + took(id, 'ready')))
  return (
    <section className={classes.boot}>
      <div className={classes.legend}>
        <p>{say('plugins.boot-total', { time: formats.count(wholeMs, 'ms') })}</p>
        <p>
          <span className={classes.mark} data-phase="setup" aria-hidden /> {say('plugins.phase.setup')}
        </p>
        <p>
          <span className={classes.mark} data-phase="ready" aria-hidden /> {say('plugins.phase.ready')}
        </p>
      </div>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">{say('plugins.plugin')}</th>
            <th scope="col" className={classes.wide}>
              <span className={classes.scale}>
                <span>{formats.count(0)}</span>
                <span>{formats.count(wholeMs, 'ms')}</span>
              </span>
            </th>
            <th scope="col" className={classes.number}>
              {say('plugins.phase.setup')}
            </th>
            <th scope="col" className={classes.number}>
              {say('plugins.phase.ready')}
            </th>
          </tr>
        </thead>
        <tbody>
          {plugins.map(({ id }) => (
            <tr key={id} data-slowest={took(id, 'setup') + took(id, 'ready') === slowest || undefined}>
              <th scope="row">{id}</th>
              <td className={classes.wide}>
                <svg className={classes.bars} viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true">
                  {(stepsOf.get(id) ?? []).map((step) => (
                    <rect
                      key={`${step.phase} ${step.startedAtMs}`}
                      data-phase={step.phase}
                      data-outcome={step.outcome}
                      x={Math.min(997, (step.startedAtMs / wholeMs) * 1000)}
                      width={Math.max(3, (step.durationMs / wholeMs) * 1000)}
                      y="1"
                      height="10"
                    />
                  ))}
                </svg>
              </td>
              <td className={classes.number}>{milliseconds(took(id, 'setup'))}</td>
              <td className={classes.number}>{milliseconds(took(id, 'ready'))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )

  function milliseconds(ms: number): string {
    return `${formats.count(Math.round(ms * 10) / 10)} ms`
  }
}
