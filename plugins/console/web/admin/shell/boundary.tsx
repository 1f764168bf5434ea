import { Component, type ReactNode } from 'react'
import { useSpeech } from '../../app/app.tsx'
import { FailureNotice } from '../../app/failure-notice.tsx'

interface BoundaryState {
  readonly failed: boolean
}

/** What a page does wrong ends that page alone. */
export class Boundary extends Component<{ readonly children: ReactNode }, BoundaryState> {
  override state: BoundaryState = { failed: false }

  static getDerivedStateFromError(): BoundaryState {
    return { failed: true }
  }

  override render() {
    if (!this.state.failed) return this.props.children
    return <Broken onRetry={() => this.setState({ failed: false })} />
  }
}

function Broken({ onRetry }: { onRetry(): void }) {
  const { say } = useSpeech()
  return <FailureNotice message={say('admin.broken')} traceId="" onRetry={onRetry} />
}
