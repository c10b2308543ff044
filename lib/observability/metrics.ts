/**
 * Figures for Prometheus. Install `prom-client`.
 *
 * @module koa-gatehouse/metrics
 */
import '#runtime';

export { createMetrics } from './create-metrics.ts';
export type { Metrics, MetricsOptions, MetricsRegister, ObservedServer } from './create-metrics.ts';
