import { useCallback, useEffect, useState } from 'react'
import type { WizardStep } from './step-navigation.tsx'

/** Steps to which the buttons of the browser lead. An installation that runs or has ended cannot be left backwards. */
const reachable: readonly unknown[] = ['environment', 'configuration'] satisfies WizardStep[]

const stepIn = (state: unknown) => (state as { readonly step?: unknown } | null)?.step

/**
 * Returns the step of the wizard and a function that changes it. Each step has an entry in the history of the browser,
 * so *Back* leads to the previous step, and a reload stays in the step.
 */
export function useWizardStep(): readonly [WizardStep, (step: WizardStep) => void] {
  const [step, setStep] = useState<WizardStep>(() =>
    stepIn(window.history.state) === 'configuration' ? 'configuration' : 'environment',
  )
  useEffect(() => {
    const onPop = ({ state }: PopStateEvent) => {
      const wanted = stepIn(state) ?? 'environment'
      if (reachable.includes(step) && reachable.includes(wanted)) setStep(wanted as WizardStep)
      else window.history.pushState({ step }, '')
    }
    window.addEventListener('popstate', onPop)
    return () => window.removeEventListener('popstate', onPop)
  }, [step])
  const go = useCallback((next: WizardStep) => {
    if (stepIn(window.history.state) !== next) window.history.pushState({ step: next }, '')
    setStep(next)
  }, [])
  return [step, go]
}
