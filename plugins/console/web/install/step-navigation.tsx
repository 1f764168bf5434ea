import { IconCheck } from '@tabler/icons-react'
import { useLanguage } from '../app/app.tsx'
import classes from './step-navigation.module.css'

const wizardSteps = ['environment', 'configuration', 'process', 'done'] as const
export type WizardStep = (typeof wizardSteps)[number]

/** Shows the four steps and marks the current one. `undefined` means that the first step has not begun. */
export function StepNavigation({ current }: { readonly current: WizardStep | undefined }) {
  const { translate } = useLanguage()
  const position = current === undefined ? -1 : wizardSteps.indexOf(current)
  const isOver = current === 'done'
  return (
    <nav aria-label={translate('steps.label')} className={classes.navigation}>
      <p className={classes.summary} aria-hidden="true">
        {current === undefined ? translate('steps.label') : translate('steps.position', { position: position + 1 })}
        {current !== undefined && <strong>{translate(`steps.${current}.name`)}</strong>}
      </p>
      <ol className={classes.steps}>
        {wizardSteps.map((step, index) => {
          const isDone = index < position || isOver
          return (
            <li
              key={step}
              className={classes.step}
              data-state={isDone ? 'done' : index === position ? 'current' : 'ahead'}
              aria-current={index === position ? 'step' : undefined}
            >
              <span className={classes.number} aria-hidden="true">
                {isDone ? <IconCheck size={16} stroke={2.5} /> : index + 1}
              </span>
              <span className={classes.text}>
                <span className={classes.name}>{translate(`steps.${step}.name`)}</span>
                <span className={classes.description}>{translate(`steps.${step}.description`)}</span>
                {isDone && <span className="visually-hidden">{translate('steps.finished')}</span>}
              </span>
            </li>
          )
        })}
      </ol>
    </nav>
  )
}
